// The public Solver: an engine's solver, its ranks and its device, built anew by restore().

#include "robusta/solver.h"

#include <atomic>
#include <optional>

#include "api/communicator_impl.h"
#include "api/devices.h"
#include "api/net_impl.h"
#include "base/str.h"
#include "net/plan/precision.h"
#include "schema/read_text.h"
#include "solver/files/ignored.h"
#include "solver/solver.h"

namespace robusta::v1 {

struct Solver::Impl {
  Impl(SolverDef solver, const SolverOptions& wanted);

  void build(const std::string& snapshot);
  void listen();
  /// The engine's question between iterations. A stop stays, a snapshot is asked for once.
  Request poll();

  SolverDef def;
  SolverOptions options;
  std::shared_ptr<Device> device;
  std::optional<Ranks> ranks;
  std::unique_ptr<RecordingTuner> tuner;
  std::atomic<bool> stop = false, snapshot = false;
  std::function<void(const IterationReport&)> on_iteration;
  std::function<void(const TestReport&)> on_test;
  std::function<void()> before_iteration, before_update;
  std::unique_ptr<robusta::Solver> solver;
  std::vector<Net> nets;  ///< the train net, then the test nets
};

namespace {

/// Runs work that several ranks do together. On those that end because of another one its error is thrown as ours.
template <typename Work>
auto together(const Work& work) {
  try {
    return work();
  } catch (const EndedByPeer& peer) {
    throw Error(static_cast<ErrorKind>(peer.exit_code()), peer.what());
  }
}

Net net_of(robusta::Net& net) {
  auto impl = std::make_unique<Net::Impl>();
  impl->net = &net;
  return Net(std::move(impl));
}

TestReport report_of(int iteration, int net, const std::vector<OutputBlob>& means) {
  TestReport report{iteration, net, {}};
  for (const OutputBlob& blob : means) report.outputs.push_back({blob.name, blob.values});
  return report;
}

}  // namespace

Solver::Impl::Impl(SolverDef solver, const SolverOptions& wanted) : def(std::move(solver)), options(wanted) {
  device = open_device(options.gpu);
  if (!options.type.empty()) def.param.set_type(options.type);
  if (options.seed >= 0 && def.param.random_seed() < 0) def.param.set_random_seed(options.seed);
  if (options.autotune) tuner = std::make_unique<RecordingTuner>("");
  if (options.communicator) ranks.emplace(*options.communicator->impl().ranks, DdlOptions{});
  if (!ranks || ranks->root()) warn_of_ignored_fields(def, true);
  build(options.snapshot);
}

void Solver::Impl::build(const std::string& from) {
  robusta::SolverOptions own;
  own.dtype = computing_type(options.dtype);
  own.precision = precision_from(options.precision, *device_or_cpu(device), tuner.get());
  own.device = device_or_cpu(device);
  own.kernels = options.kernels;
  own.batch = options.batch;
  own.keep_blobs = options.keep_blobs;
  own.ranks = ranks ? &*ranks : nullptr;
  own.tuner = tuner.get();
  own.weights = options.weights;
  own.snapshot = from;
  own.poll = [this] { return poll(); };
  // What is asked for meanwhile is meant for the new one.
  const bool stopped = stop.exchange(false), wanted = snapshot.exchange(false);
  std::unique_ptr<robusta::Solver> made;
  try {
    made = together([&] { return std::make_unique<robusta::Solver>(def, own); });
  } catch (...) {
    stop = stop || stopped;
    snapshot = snapshot || wanted;
    throw;
  }
  std::vector<Net> wrapped;
  wrapped.push_back(net_of(made->train_net()));
  for (const auto& test_net : made->test_nets()) wrapped.push_back(net_of(*test_net));
  if (nets.empty()) {
    nets = std::move(wrapped);
  } else {  // the program holds references to these objects
    std::move(wrapped.begin(), wrapped.end(), nets.begin());
  }
  solver = std::move(made);
  listen();
}

void Solver::Impl::listen() {
  solver->before_iteration = before_iteration;
  solver->on_gradients = before_update;
  solver->on_iteration = [this](int iteration, double loss, double rate) {
    if (on_iteration) on_iteration({iteration, def.param.max_iter(), loss, rate});
  };
  solver->on_test = [this](int net, const std::vector<OutputBlob>& means) {
    if (on_test) on_test(report_of(solver->state().iter, net, means));
  };
}

Request Solver::Impl::poll() {
  if (stop) return Request::kStop;
  return snapshot.exchange(false) ? Request::kSnapshot : Request::kNone;
}

Solver::Solver(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Solver::Solver(Solver&&) noexcept = default;
Solver& Solver::operator=(Solver&&) noexcept = default;
Solver::~Solver() = default;

Solver Solver::from_file(const std::string& path, const SolverOptions& options) {
  return Solver(std::make_unique<Impl>(read_solver(path), options));
}

Solver Solver::from_text(const std::string& text, const SolverOptions& options, const std::string& name) {
  return Solver(std::make_unique<Impl>(parse_solver(text, name), options));
}

SolveResult Solver::solve() {
  const TrainingResult result = together([&] { return impl_->solver->solve(); });
  return {result.stopped_early, result.failed_snapshots};
}

void Solver::step(int iterations) {
  if (iterations < 0) throw Error(ErrorKind::kUsage, str("step of ", iterations, " iterations"));
  together([&] {
    try {
      impl_->solver->step(iterations);
    } catch (...) {  // a callback's, say: what is through has to be there all the same
      impl_->solver->finish_updates();
      throw;
    }
    impl_->solver->finish_updates();
  });
}

void Solver::test() {
  together([&] { impl_->solver->test_all(); });
}

SnapshotFiles Solver::snapshot() {
  const SnapshotPaths paths = together([&] { return impl_->solver->snapshot(); });
  return {paths.model, paths.state};
}

void Solver::restore(const std::string& state) { impl_->build(state); }

int Solver::iteration() const { return impl_->solver->state().iter; }
double Solver::rate() const { return impl_->solver->next_rate(); }
int Solver::max_iteration() const { return impl_->def.param.max_iter(); }
std::string Solver::settings() const { return impl_->def.param.DebugString(); }
Net& Solver::net() { return impl_->nets.front(); }
int Solver::test_nets() const { return static_cast<int>(impl_->nets.size()) - 1; }

Net& Solver::test_net(int index) {
  if (index >= 0 && index < test_nets()) return impl_->nets[static_cast<size_t>(index) + 1];
  throw Error(ErrorKind::kUsage, str("the solver has ", test_nets(), " test nets, and none ", index));
}

void Solver::on_iteration(std::function<void(const IterationReport&)> callback) {
  impl_->on_iteration = std::move(callback);
}

void Solver::on_test(std::function<void(const TestReport&)> callback) { impl_->on_test = std::move(callback); }

void Solver::before_iteration(std::function<void()> callback) {
  impl_->before_iteration = std::move(callback);
  impl_->listen();
}

void Solver::before_update(std::function<void()> callback) {
  impl_->before_update = std::move(callback);
  impl_->listen();
}

void Solver::request_stop() { impl_->stop = true; }
void Solver::request_snapshot() { impl_->snapshot = true; }

}  // namespace robusta::v1
