// caffe time: passes on the host are timed layer by layer; on a GPU whole ones, as training enqueues them.

#include <chrono>
#include <iomanip>
#include <iostream>
#include <map>

#include "app/commands/commands.h"
#include "app/setup/chosen_net.h"
#include "app/setup/devices.h"
#include "app/setup/net_setup.h"
#include "base/log.h"
#include "comm/launch.h"
#include "inspect/net_summary.h"
#include "inspect/roofline.h"
#include "net/report.h"
#include "robusta/error.h"
#include "solver/reports/json_log.h"
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
  return {.seed = net.options().seed, .first_sample = first, .next_sample = first + batch, .batch = net.batch()};
}

/// At a learning rate of 0: it costs the same, and the net stays as it is.
void run_update(Updater& updater) {
  updater.begin({.momentum = 0.9, .hold = true});
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
void log_copies(const Net& net, const CopyTotals& before, int iterations) {
  if (!net.plan().offloading.planned) return;
  const CopyTotals now = net.diagnostics().copies();
  LOG_INFO << "Large model support: " << describe_offloading(net.plan());
  LOG_INFO << "Average wait for copies: " << (now.exposed_ms - before.exposed_ms) / iterations << " ms.";
}

void warm_up(Net& net, Updater* updater) {
  LOG_INFO << "Performing Forward";
  LOG_INFO << "Initial loss: " << net.forward(pass_number(net, 0));
  if (net.options().backward) LOG_INFO << "Performing Backward";
  for (int i = 0; i < kWarmUpPasses; ++i) run_pass(net, updater, i);
}

/// The sums over the timed passes.
Times time_passes(Net& net, Updater* updater, int iterations) {
  Times total;
  for (int i = 0; i < iterations; ++i) {
    const Times times = run_pass(net, updater, kWarmUpPasses + i);
    total.forward += times.forward;
    total.backward += times.backward;
    total.update += times.update;
    LOG_INFO << "Iteration: " << i + 1 << " forward-backward time: " << times.forward + times.backward << " ms.";
  }
  return total;
}

/// Times of single layers take a wait after each step, which on a GPU costs more than many steps do: there they are
/// taken in passes of their own, after those that count.
Times time_net(Net& net, Updater* updater, int iterations) {
  const bool on_host = net.options().device->is_host();
  net.diagnostics().set_profiling(on_host);
  const CopyTotals copied = net.diagnostics().copies();
  const Times total = time_passes(net, updater, iterations);
  log_copies(net, copied, iterations);
  if (on_host) return total;
  if (updater) {
    const double step = run_ahead(net, *updater, kWarmUpPasses + iterations, iterations);
    LOG_INFO << describe_graphs(net.diagnostics().graphs());
    LOG_INFO << "Average Iteration: " << step << " ms.";
  }
  net.diagnostics().set_profiling(true);
  for (int i = 0; i < iterations; ++i) run_pass(net, updater, kWarmUpPasses + i);
  return total;
}

void log_times(const Net& net, const Times& total, bool updates, int iterations) {
  log_layers(net, iterations);
  LOG_INFO << "Average Forward pass: " << total.forward / iterations << " ms.";
  if (net.options().backward) LOG_INFO << "Average Backward pass: " << total.backward / iterations << " ms.";
  LOG_INFO << "Average Forward-Backward: " << (total.forward + total.backward) / iterations << " ms.";
  if (updates) LOG_INFO << "Average Update: " << total.update / iterations << " ms.";
  LOG_INFO << "Total Time: " << total.forward + total.backward << " ms.";
}

void require_processor(const NetSetup& setup) {
  if (setup.device->is_host()) return;
  throw Error(ErrorKind::kUsage, "-roofline measures processors, and this net would run on a GPU",
              "leave out -gpu, or -roofline");
}

/// What the processor allows, measured right after the layers, as busy as the machine then is.
void print_roofs(const Net& net, int iterations) {
  constexpr double kSeconds = 0.3;
  const ProcessorPeaks peaks = measure_peaks(kSeconds);
  print_roofline(std::cout,
                 roofline(net.diagnostics().layer_times(), net.diagnostics().layer_work(), iterations, peaks), peaks);
}

/// For reports (`caffe report`): the times of layers beside their memory.
void write_layer_times(JsonLog& json, const Net& net, int iterations) {
  std::multimap<std::string, LayerSummary> known;  // layers of one name in the order of the net, as their times are
  for (LayerSummary& layer : summarise(net).layers) known.emplace(layer.name, std::move(layer));
  std::string rows = "[";
  for (const LayerTime& time : net.diagnostics().layer_times()) {
    const auto found = known.lower_bound(time.layer);
    if (found == known.end() || found->first != time.layer) continue;  // a Split
    const LayerSummary layer = known.extract(found).mapped();
    const int64_t bytes = layer.top_bytes + layer.param_count * static_cast<int64_t>(sizeof(float));
    if (rows.size() > 1) rows += ", ";
    rows += JsonObject()
                .add("name", time.layer)
                .add("type", layer.type)
                .add("forward_ms", time.forward_ms / iterations)
                .add("backward_ms", time.backward_ms / iterations)
                .add("bytes", bytes)
                .text();
  }
  json.write("layer_times", JsonObject().add("net", net.name()).add_raw("layers", rows + "]"));
}

}  // namespace

int time_command(const Options& options) {
  warn_of_others();
  JsonLog json(options.log_json());
  Ranks alone(DdlOptions{});
  const NetSetup setup = set_up_nets(options, alone, DeviceChoice(options).open(alone));
  if (options.roofline()) require_processor(setup);
  ChosenNet chosen = choose_net(options, "time");
  NetOptions net_options = setup.net_options(options, chosen.phase);
  net_options.data.synthesize_missing = true;
  net_options.backward = !options.forward_only();
  net_options.skip_unread = true;
  const bool updates = net_options.backward && chosen.phase == caffe::TRAIN;
  if (net_options.budget && updates) net_options.budget->update = update_arrays(chosen.solver);
  Net net(std::move(chosen.net), net_options);
  std::unique_ptr<Updater> updater;
  if (updates && learns(net)) updater = std::make_unique<Updater>(chosen.solver, net);

  warm_up(net, updater.get());
  LOG_INFO << "*** Benchmark begins ***";
  LOG_INFO << "Testing for " << options.iterations() << " iterations.";
  const Times total = time_net(net, updater.get(), options.iterations());
  log_times(net, total, updater != nullptr, options.iterations());
  LOG_INFO << "*** Benchmark ends ***";
  if (options.roofline()) print_roofs(net, options.iterations());
  write_layer_times(json, net, options.iterations());
  json.require_whole();
  return 0;
}

}  // namespace robusta
