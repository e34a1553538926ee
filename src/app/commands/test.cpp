#include <algorithm>
#include <memory>

#include "app/commands/commands.h"
#include "app/commands/devices.h"
#include "app/commands/flags.h"
#include "app/commands/memory_flags.h"
#include "base/log.h"
#include "base/str.h"
#include "solver/files/net_defs.h"
#include "solver/files/weights.h"
#include "solver/ranks/job.h"
#include "solver/ranks/share.h"
#include "solver/ranks/start_checks.h"
#include "solver/reports/debug_info.h"
#include "solver/reports/training_log.h"

namespace robusta {
namespace {

void check_flags() {
  require_flag("test", "model", FLAGS_model);
  require_flag("test", "weights", FLAGS_weights);
  if (FLAGS_iterations <= 0) throw Error(ErrorKind::kUsage, "-iterations must be at least 1");
}

/// With rank 0's kernels and weights, so that all ranks score the same net.
std::unique_ptr<Net> build_net(Ranks& ranks, Device& device) {
  std::unique_ptr<RecordingTuner> tuner;
  NetDef def;
  NetOptions options;
  ranks.together([&] {
    tuner = tuner_from_flags();
    def = net_in_state(FLAGS_model, caffe::TEST, FLAGS_level, stage_flag());
    options = net_options_from_flags(caffe::TEST, tuner.get());
  });
  check_same_net(ranks, FLAGS_model, def);
  check_same_flags(ranks, flags_of_the_job());
  options.device = &device;
  ranks.together([&] { set_memory(options, memory_options_from_flags(device, processes_of_host(ranks))); });
  options.backward = false;
  options.keep_blobs = def.param.debug_info();
  options.rank = ranks.rank();
  options.ranks = ranks.count();
  std::unique_ptr<Net> net;
  const auto build = [&] { net = std::make_unique<Net>(def, options); };
  if (tuner) ranks.doing("the timing of kernels", Activity::kPausing, 3600);
  ranks.root_only(build);
  if (tuner) share_kernel_choices(ranks, *tuner);
  ranks.doing("the set-up", Activity::kPausing);
  ranks.together([&] {
    if (!ranks.root()) build();
  });
  check_same_data(ranks, *net);
  ranks.root_only([&] { load_weights({FLAGS_weights}, *net, "Testing"); });
  share_parameters(ranks, *net);
  if (def.param.debug_info()) set_debug_info(*net, true);
  return net;
}

/// The loss of a batch, then the values of all outputs.
std::vector<double> flatten(double loss, const std::vector<OutputBlob>& outputs) {
  std::vector<double> flat{loss};
  for (const OutputBlob& blob : outputs) flat.insert(flat.end(), blob.values.begin(), blob.values.end());
  return flat;
}

/// Those of all ranks, one after the other.
std::vector<double> gather(Ranks& ranks, const std::vector<double>& mine) {
  if (ranks.alone()) return mine;
  const Ranks::Waiting waiting(ranks);
  std::vector<double> all(mine.size() * static_cast<size_t>(ranks.count()));
  ranks.control().all_gather(mine.data(), mine.size() * sizeof(double), all.data());
  return all;
}

/// Adds a batch's loss and outputs to the sums, and logs the outputs.
void add(std::vector<double>& sums, const double* values, const std::vector<OutputBlob>& outputs, int batch) {
  size_t at = 0;
  sums[at] += values[at];
  for (const OutputBlob& blob : outputs) {
    for (size_t i = 0; i < blob.values.size(); ++i) {
      ++at;
      LOG_INFO << "Batch " << batch << ", " << blob.name << " = " << values[at];
      sums[at] += values[at];
    }
  }
}

/// The batches go to the ranks in turn. After each round rank 0 logs them in order, and sums in that order: the same
/// bits on any number of ranks. Returns the sums.
std::vector<double> score(Ranks& ranks, Net& net) {
  const std::vector<OutputBlob> outputs = read_outputs(net);  // names and sizes
  const size_t values = flatten(0, outputs).size();
  std::vector<double> sums(values);
  const auto batch = static_cast<uint64_t>(net.batch());
  for (int round = 0; round < FLAGS_iterations; round += ranks.count()) {
    const int mine = round + ranks.rank(), end = std::min(round + ranks.count(), FLAGS_iterations);
    std::vector<double> own(values);
    if (mine < end) {
      ranks.doing("waiting for data", round == 0 ? Activity::kPausing : Activity::kComputing);
      const uint64_t first = static_cast<uint64_t>(mine) * batch;
      const Pass pass{net.options().seed, first, first + static_cast<uint64_t>(ranks.count()) * batch, net.batch()};
      const double loss = net.forward(pass);
      own = flatten(loss, read_outputs(net));
    }
    const std::vector<double> all = gather(ranks, own);
    for (int i = round; i < end; ++i) add(sums, all.data() + static_cast<size_t>(i - round) * values, outputs, i);
  }
  return sums;
}

int test(Ranks& ranks) {
  ranks.together(check_flags);
  const std::shared_ptr<Device> device = device_of_rank(ranks);
  const std::unique_ptr<Net> net = build_net(ranks, *device);
  if (FLAGS_sampling) return 0;
  if (!ranks.alone()) {
    net->diagnostics().set_step_watch([&](const std::string& layer, bool) { ranks.doing("forward of layer " + layer); },
                                      false);
    LOG_INFO << FLAGS_iterations << " batches are shared out to " << ranks.count() << " ranks.";
  }
  LOG_INFO << "Running for " << FLAGS_iterations << " iterations.";
  const std::vector<double> sums = score(ranks, *net);
  auto sum = sums.begin();
  LOG_INFO << "Loss: " << *sum++ / FLAGS_iterations;
  for (const OutputBlob& blob : read_outputs(*net)) {
    for (size_t k = 0; k < blob.values.size(); ++k) {
      const double mean = *sum++ / FLAGS_iterations;
      LOG_INFO << blob.name << " = " << mean << loss_note(blob.weight, mean);
    }
  }
  return 0;
}

}  // namespace

int test_command() { return run_job(FLAGS_ddl, test); }

}  // namespace robusta
