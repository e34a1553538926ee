/// Training as a solver.prototxt says.
///
///   robusta::Solver solver = robusta::Solver::from_file("lenet_solver.prototxt");
///   solver.on_iteration([](const robusta::IterationReport& now) { std::printf("%d: %g\n", now.iteration, now.loss);
///   }); solver.solve();
///
/// Every call may throw robusta::Error (error.h): kConfig at file and line, kData, kModel, kMemory, kNumeric for a loss
/// that is not finite, kOutput for files that cannot be written. The library installs no signal handlers and prints
/// nothing: lines of the log go to the sink (log.h).
///
/// One thread drives a solver; request_stop and request_snapshot may come from any thread, and from callbacks.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "robusta/communicator.h"
#include "robusta/net.h"

namespace robusta::ROBUSTA_V1 {

/// What a program decides beyond the solver's file.
struct SolverOptions {
  DType dtype = DType::kF32;             ///< or kF64
  int gpu = -1;                          ///< number of the GPU; -1: the processor, whatever solver_mode says
  std::string precision;                 ///< as in NetOptions
  std::string kernels = "auto";          ///< as in NetOptions
  bool autotune = false;                 ///< as in NetOptions
  bool keep_blobs = false;               ///< as in NetOptions, of all nets
  std::string type;                      ///< the rule of updates, "Adam" say, in place of the solver's own
  int64_t seed = -1;                     ///< >= 0: in place of a random_seed that the solver does not have
  int64_t batch = 0;                     ///< > 0: samples per batch of every source
  std::vector<std::string> weights;      ///< .caffemodel files to begin with, in place of the solver's own
  std::string snapshot;                  ///< a .solverstate to go on from
  Communicator* communicator = nullptr;  ///< ranks that train together, one solver each; it lives longer. Null: alone
};

/// An iteration that is done.
struct IterationReport {
  int iteration = 0;  ///< from 0
  int max_iteration = 0;
  double loss = 0;  ///< of this iteration's batch, over all ranks
  double rate = 0;  ///< the learning rate
};

/// A test that is done: means over its batches; with eval_type "detection" the mean average precision of each output.
struct TestReport {
  int iteration = 0;
  int net = 0;  ///< index of the test net
  struct Output {
    std::string blob;
    std::vector<double> means;  ///< one per element
  };
  std::vector<Output> outputs;
};

struct SnapshotFiles {
  std::string model, state;
};

struct SolveResult {
  bool stopped_early = false;  ///< by request_stop
  int failed_snapshots = 0;    ///< on a full disk, say; training went on
};

class ROBUSTA_API Solver {
 public:
  static Solver from_file(const std::string& path, const SolverOptions& options = {});
  /// From its text; `name` stands for the file in messages. Names in it are relative to the current folder.
  static Solver from_text(const std::string& text, const SolverOptions& options = {},
                          const std::string& name = "solver");
  Solver(Solver&&) noexcept;
  Solver& operator=(Solver&&) noexcept;
  ~Solver();

  /// Trains to max_iter, with tests, displays and snapshots as the solver's file says.
  SolveResult solve();
  /// The same for so many iterations; without the snapshot and the test at the end. Parameters may be read
  /// afterwards.
  void step(int iterations);
  /// Runs every test net over its test_iter batches and tells on_test.
  void test();

  /// Writes PREFIX_iter_N.caffemodel and PREFIX_iter_N.solverstate now; of several ranks the first does, and all return
  /// the paths.
  SnapshotFiles snapshot();
  /// Goes on from a .solverstate. The nets are built anew: views of them end, the Net objects stay. Until the new ones
  /// are there the old ones live on, so that a restore that throws changes nothing: there has to be memory for both, or
  /// the program ends this solver and begins another one with SolverOptions::snapshot.
  void restore(const std::string& state);

  /// Iterations that are done.
  int iteration() const;
  /// The learning rate of the iteration that comes next.
  double rate() const;
  int max_iteration() const;
  /// The settings as text, with what former versions called otherwise under today's names.
  std::string settings() const;
  Net& net();
  int test_nets() const;
  Net& test_net(int index);

  /// Called on the thread that drives the solver; an empty one ends that.
  void on_iteration(std::function<void(const IterationReport&)> callback);
  void on_test(std::function<void(const TestReport&)> callback);
  /// Called before each iteration, and before its updates, when backward is through and parameters' gradients may be
  /// read and changed; of several ranks each has its own sum then, or that of all. Throwing ends the call that trains.
  void before_iteration(std::function<void()> callback);
  void before_update(std::function<void()> callback);

  /// After the iteration that is under way, or the next one, step or solve returns; solve writes a snapshot first. From
  /// then on both return at once, until restore().
  void request_stop();
  /// After the iteration that is under way a snapshot is written.
  void request_snapshot();

  struct Impl;  ///< the library's own

 private:
  explicit Solver(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace robusta::ROBUSTA_V1
