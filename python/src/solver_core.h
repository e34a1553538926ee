/// A solver as scripts have it: its nets' arrays follow its passes, and callbacks of Python take part in them.
///
/// REQUIRES, of every function: the interpreter's lock, which is given up while it trains.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "communicator.h"
#include "net_core.h"
#include "robusta/solver.h"

namespace robusta::python {

class SolverCore {
 public:
  /// `ranks` may be null. Throws Error.
  SolverCore(const std::string& path, SolverOptions options, std::shared_ptr<Ranks> ranks);
  SolverCore(const SolverCore&) = delete;
  SolverCore& operator=(const SolverCore&) = delete;
  ~SolverCore();

  Solver& solver() { return *solver_; }
  const std::shared_ptr<Guard>& guard() const { return guard_; }
  /// Those of callbacks, for Python's search for cycles.
  std::vector<pybind11::object>& on_start() { return on_start_; }
  std::vector<pybind11::object>& on_gradients() { return on_gradients_; }
  const std::shared_ptr<NetCore>& net() const { return nets_.front(); }
  std::vector<std::shared_ptr<NetCore>> test_nets() const { return {nets_.begin() + 1, nets_.end()}; }

  /// Iterations that are done, and the learning rate of the next one: also while another thread trains.
  int iteration() const { return iteration_; }
  double rate() const { return rate_; }
  void step(int iterations);
  /// Ctrl-C ends it with a snapshot and KeyboardInterrupt.
  void solve();
  void test();
  SnapshotFiles snapshot();
  void restore(const std::string& state);
  /// Called without arguments at the start of every iteration, and when its gradients are there.
  void add_callbacks(pybind11::object on_start, pybind11::object on_gradients);

 private:
  void run(const std::function<void()>& work);
  void before_iteration();
  void note_progress();
  std::unique_ptr<Guard::Use> use_of_ranks() const;
  void call(const std::vector<pybind11::object>& callbacks);

  std::shared_ptr<Ranks> ranks_;
  std::shared_ptr<Guard> guard_;
  std::shared_ptr<Solver> solver_;
  std::vector<std::shared_ptr<NetCore>> nets_;  ///< the train net, then the test nets
  std::vector<pybind11::object> on_start_, on_gradients_;
  std::chrono::steady_clock::time_point checked_;  ///< signals
  std::atomic<int> iteration_;
  std::atomic<double> rate_;
};

}  // namespace robusta::python
