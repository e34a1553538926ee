#include <chrono>
#include <iomanip>

#include "app/commands/commands.h"
#include "app/commands/devices.h"
#include "app/commands/flags.h"
#include "app/commands/memory_flags.h"
#include "app/commands/subject.h"
#include "base/log.h"
#include "comm/launch.h"
#include "net/report.h"
#include "robusta/error.h"
#include "solver/update/updater.h"

namespace robusta {
namespace {

constexpr int kWarmUpPasses = 2;  // the first also takes memory; the second finds the processor at speed

class Stopwatch {
 public:
  double milliseconds() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

bool learns(const Net& net) {
  for (const ParamPtr& param : net.params()) {
    if (param->lr_mult != 0) return true;
  }
  return false;
}

/// Sums of milliseconds over the timed iterations.
struct Times {
  double forward = 0, backward = 0, update = 0;
};

Pass pass_number(const Net& net, int number) {
  const auto batch = static_cast<uint64_t>(net.batch());
  const uint64_t first = static_cast<uint64_t>(number) * batch;
  return {net.options().seed, first, first + batch, net.batch()};
}

/// At a learning rate of 0: it costs the same, and the net stays as it is.
void run_update(Updater& updater) {
  updater.begin({0, 0, 0.9, 0, true});
  updater.finish();
}

/// One pass, waited for after each part.
Times run_pass(Net& net, Updater* updater, int number) {
  const Pass pass = pass_number(net, number);
  Times times;
  const Stopwatch forward;
  net.forward(pass);
  times.forward = forward.milliseconds();
  if (!net.options().backward) return times;
  const Stopwatch backward;
  net.backward(pass, false);
  net.stream().synchronize();
  times.backward = backward.milliseconds();
  if (!updater) return times;
  const Stopwatch update;
  run_update(*updater);
  net.stream().synchronize();
  times.update = update.milliseconds();
  return times;
}

/// Milliseconds of an iteration as a GPU trains: the host enqueues ahead of it.
double run_ahead(Net& net, Updater& updater, int first, int count) {
  const Stopwatch stopwatch;
  for (int i = first; i < first + count; ++i) {
    net.start_forward(pass_number(net, i));
    net.backward(pass_number(net, i), false);
    net.prefetch(pass_number(net, i + 1));
    net.finish_forward();
    run_update(updater);
  }
  net.stream().synchronize();
  return stopwatch.milliseconds() / count;
}

/// What looks like a training of many is many trainings of one.
void warn_of_others() {
  const Launch launch = own_launch();
  if (launch.ranks <= 1 || launch.rank > 0) return;
  LOG_WARNING
      << launch.ranks << " processes were started, and each times a net of its own, without communication, "
      << "while the others of its host compete with it: caffe train -ddl \"-dump_iter 10\" shows times of ranks "
      << "that train together";
}

void log_layers(const Net& net, int iterations) {
  LOG_INFO << "Average time per layer: ";
  for (const LayerTime& time : net.diagnostics().layer_times()) {
    LOG_INFO << std::setw(10) << time.layer << "\tforward: " << time.forward_ms / iterations << " ms.";
    if (!net.options().backward) continue;
    LOG_INFO << std::setw(10) << time.layer << "\tbackward: " << time.backward_ms / iterations << " ms.";
  }
}

/// What large model support has copied since `before`.
void log_copies(const Net& net, const CopyTotals& before) {
  if (!net.plan().offloading.planned) return;
  const CopyTotals now = net.diagnostics().copies();
  LOG_INFO << "Large model support: " << describe_offloading(net.plan());
  LOG_INFO << "Average wait for copies: " << (now.exposed_ms - before.exposed_ms) / FLAGS_iterations << " ms.";
}

void warm_up(Net& net, Updater* updater) {
  LOG_INFO << "Performing Forward";
  LOG_INFO << "Initial loss: " << net.forward(pass_number(net, 0));
  if (net.options().backward) LOG_INFO << "Performing Backward";
  for (int i = 0; i < kWarmUpPasses; ++i) run_pass(net, updater, i);
}

}  // namespace

int time_command() {
  warn_of_others();
  if (FLAGS_iterations <= 0) throw Error(ErrorKind::kUsage, "-iterations must be at least 1");
  const std::shared_ptr<Device> device = device_from_flags();
  const std::unique_ptr<RecordingTuner> tuner = tuner_from_flags();
  Subject subject = subject_from_flags("time");
  NetOptions options = net_options_from_flags(subject.phase, tuner.get());
  options.device = device.get();
  options.data.synthesize_missing = true;
  set_memory(options, memory_options_from_flags(*device, 1));
  options.backward = !FLAGS_forward_only;
  const bool updates = options.backward && subject.phase == caffe::TRAIN;
  if (options.budget && updates) options.budget->histories = make_update_rule(subject.solver)->histories();
  Net net(std::move(subject.net), options);
  std::unique_ptr<Updater> updater;
  if (updates && learns(net)) updater = std::make_unique<Updater>(subject.solver, net);

  warm_up(net, updater.get());
  LOG_INFO << "*** Benchmark begins ***";
  LOG_INFO << "Testing for " << FLAGS_iterations << " iterations.";
  // Times of single layers take a wait after each step, which on a GPU costs more than many steps do.
  const bool on_host = device->is_host();
  net.diagnostics().set_profiling(on_host);
  const CopyTotals copied = net.diagnostics().copies();
  Times total;
  for (int i = 0; i < FLAGS_iterations; ++i) {
    const Times times = run_pass(net, updater.get(), kWarmUpPasses + i);
    total.forward += times.forward;
    total.backward += times.backward;
    total.update += times.update;
    LOG_INFO << "Iteration: " << i + 1 << " forward-backward time: " << times.forward + times.backward << " ms.";
  }
  log_copies(net, copied);
  if (!on_host && updater) {
    const double step = run_ahead(net, *updater, kWarmUpPasses + FLAGS_iterations, FLAGS_iterations);
    LOG_INFO << describe_graphs(net.diagnostics().graphs());
    LOG_INFO << "Average Iteration: " << step << " ms.";
  }
  if (!on_host) net.diagnostics().set_profiling(true);
  for (int i = 0; !on_host && i < FLAGS_iterations; ++i) run_pass(net, updater.get(), kWarmUpPasses + i);
  log_layers(net, FLAGS_iterations);
  LOG_INFO << "Average Forward pass: " << total.forward / FLAGS_iterations << " ms.";
  if (options.backward) LOG_INFO << "Average Backward pass: " << total.backward / FLAGS_iterations << " ms.";
  LOG_INFO << "Average Forward-Backward: " << (total.forward + total.backward) / FLAGS_iterations << " ms.";
  if (updater) LOG_INFO << "Average Update: " << total.update / FLAGS_iterations << " ms.";
  LOG_INFO << "Total Time: " << total.forward + total.backward << " ms.";
  LOG_INFO << "*** Benchmark ends ***";
  return 0;
}

}  // namespace robusta
