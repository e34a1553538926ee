// caffe test: the batches of a test are shared out to the ranks, and summed in their order.

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>

#include "app/commands/commands.h"
#include "app/setup/devices.h"
#include "app/setup/net_setup.h"
#include "base/log.h"
#include "base/str.h"
#include "inspect/sample_scores.h"
#include "solver/files/ignored.h"
#include "solver/files/net_defs.h"
#include "solver/files/weights.h"
#include "solver/ranks/job.h"
#include "solver/ranks/share.h"
#include "solver/ranks/start_checks.h"
#include "solver/reports/debug_info.h"
#include "solver/reports/detection_score.h"
#include "solver/reports/training_log.h"

namespace robusta {
namespace {

void check_flags(const Options& options) {
  require_flag("test", "model", options.model());
  require_flag("test", "weights", options.weights());
  require_ap_version(options.ap_version(), "-ap_version", ErrorKind::kUsage);
  constexpr int kMost = 10'000;
  if (options.top_losses() < 0 || options.top_losses() > kMost) {
    throw Error(ErrorKind::kUsage, str("-top_losses ", options.top_losses()), str("give 0 to ", kMost));
  }
}

bool looks_at_samples(const Options& options) { return options.confusion() || options.top_losses() > 0; }

/// The same on all ranks.
NetDef read_net(const Options& options, Ranks& ranks) {
  NetDef def;
  ranks.together([&] { def = net_in_state(options.model(), caffe::TEST, options.level(), stage_flag(options)); });
  check_same_net(ranks, options.model(), def);
  check_same_flags(ranks, flags_of_the_job(options));
  ranks.root_only([&] { warn_of_ignored_fields_in(options.model()); });
  return def;
}

/// Rank 0 first, whose choices of kernels the others take.
std::unique_ptr<Net> build_on_all(Ranks& ranks, const NetDef& def, const NetOptions& options, RecordingTuner* tuner) {
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
  return net;
}

/// With rank 0's kernels and weights, so that all ranks score the same net.
std::unique_ptr<Net> build_net(const Options& options, Ranks& ranks, const NetSetup& setup) {
  const NetDef def = read_net(options, ranks);
  NetOptions net_options;
  ranks.together([&] { net_options = setup.net_options(options, caffe::TEST); });
  net_options.backward = false;
  net_options.skip_unread = true;
  net_options.keep_blobs = def.param.debug_info() || looks_at_samples(options);
  net_options.rank = ranks.rank();
  net_options.ranks = ranks.count();
  std::unique_ptr<Net> net = build_on_all(ranks, def, net_options, setup.tuner.get());
  ranks.root_only([&] { load_weights({options.weights()}, *net, "Testing"); });
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

Pass pass_of(const Ranks& ranks, const Net& net, int number) {
  const auto batch = static_cast<uint64_t>(net.batch());
  const uint64_t first = static_cast<uint64_t>(number) * batch;
  return {.seed = net.options().seed,
          .first_sample = first,
          .next_sample = first + static_cast<uint64_t>(ranks.count()) * batch,
          .batch = net.batch()};
}

/// Batch `mine` on this rank, one of the round that begins at `round`. Returns the loss.
double run_batch(Ranks& ranks, Net& net, int mine, int round) {
  ranks.doing("waiting for data", round == 0 ? Activity::kPausing : Activity::kComputing);
  return net.forward(pass_of(ranks, net, mine));
}

/// The batches go to the ranks in turn. After each round rank 0 logs them in order, and sums in that order: the same
/// bits on any number of ranks. Returns the sums. `samples`: null, or what looks at each sample.
std::vector<double> score(Ranks& ranks, Net& net, int iterations, SampleScores* samples) {
  const std::vector<OutputBlob> outputs = read_outputs(net);  // names and sizes
  const size_t values = flatten(0, outputs).size();
  std::vector<double> sums(values);
  for (int round = 0; round < iterations; round += ranks.count()) {
    const int mine = round + ranks.rank(), end = std::min(round + ranks.count(), iterations);
    std::vector<double> own(values);
    if (mine < end) {
      const double loss = run_batch(ranks, net, mine, round);
      own = flatten(loss, read_outputs(net));
      if (samples) samples->add(net, pass_of(ranks, net, mine));
    }
    const std::vector<double> all = gather(ranks, own);
    for (int i = round; i < end; ++i) add(sums, all.data() + static_cast<size_t>(i - round) * values, outputs, i);
  }
  return sums;
}

void log_means(Net& net, const std::vector<double>& sums, int iterations) {
  auto sum = sums.begin();
  LOG_INFO << "Loss: " << *sum++ / iterations;
  for (const OutputBlob& blob : read_outputs(net)) {
    for (size_t k = 0; k < blob.values.size(); ++k) {
      const double mean = *sum++ / iterations;
      LOG_INFO << blob.name << " = " << mean << loss_note(blob.weight, mean);
    }
  }
}

/// The means, then what the samples' own scores say.
void score_samples(const Options& options, Ranks& ranks, Net& net, int iterations) {
  JsonLog json(ranks.root() ? options.log_json() : "");
  std::optional<SampleScores> samples;
  ranks.together([&] {
    if (looks_at_samples(options)) samples.emplace(net, options.top_losses());
  });
  log_means(net, score(ranks, net, iterations, samples ? &*samples : nullptr), iterations);
  if (!samples) return;
  samples->gather(ranks);
  ranks.root_only([&] {
    print_left_out(std::cout, *samples);
    if (options.confusion()) {
      print_confusion(std::cout, *samples);
      write_confusion(json, *samples);
    }
    if (options.top_losses() > 0) {
      print_top_losses(std::cout, *samples);
      write_top_losses(json, *samples);
    }
    json.require_whole();
  });
}

/// As Intel's `test -detection` and NVIDIA's `test_detection` end.
void score_detections(const Options& options, Ranks& ranks, Net& net, int iterations) {
  std::optional<DetectionScore> score;
  ranks.together([&] { score.emplace(net); });
  for (int i = ranks.rank(); i < iterations; i += ranks.count()) {
    run_batch(ranks, net, i, i - ranks.rank());
    score->add(net, i);
  }
  score->gather(ranks);
  const auto means = score->means(*ap_version_named(options.ap_version()), options.show_per_class_result());
  for (size_t i = 0; i < means.size(); ++i) {
    LOG_INFO << "    Test net output #" << i << ": " << means[i].name << " = " << means[i].values[0];
  }
}

int test(const Options& options, Ranks& ranks, bool detections) {
  ranks.together([&] { check_flags(options); });
  const NetSetup setup = set_up_nets(options, ranks, DeviceChoice(options).open(ranks));
  const std::unique_ptr<Net> net = build_net(options, ranks, setup);
  if (options.sampling()) return 0;
  const int iterations = options.iterations();
  if (!ranks.alone()) {
    net->diagnostics().set_step_watch([&](const std::string& layer, bool) { ranks.doing("forward of layer " + layer); },
                                      false);
    LOG_INFO << iterations << " batches are shared out to " << ranks.count() << " ranks.";
  }
  LOG_INFO << "Running for " << iterations << " iterations.";
  if (detections) {
    score_detections(options, ranks, *net, iterations);
  } else {
    hint_at_detections(*net, "-detection");
    score_samples(options, ranks, *net, iterations);
  }
  return 0;
}

}  // namespace

int test_command(const Options& options) {
  return run_job(options.ddl(), [&](Ranks& ranks) { return test(options, ranks, options.detection()); });
}

int test_detection_command(const Options& options) {
  return run_job(options.ddl(), [&](Ranks& ranks) { return test(options, ranks, true); });
}

}  // namespace robusta
