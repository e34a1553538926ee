#include <glog/logging.h>

#include "solver/commands/commands.h"
#include "solver/commands/flags.h"
#include "solver/debug_info.h"
#include "solver/net_defs.h"
#include "solver/training_log.h"
#include "solver/weights.h"

namespace robusta {
namespace {

void add(std::vector<OutputBlob>& sums, const std::vector<OutputBlob>& outputs, int batch) {
  for (const OutputBlob& blob : outputs) {
    for (const double value : blob.values) LOG(INFO) << "Batch " << batch << ", " << blob.name << " = " << value;
  }
  if (sums.empty()) {
    sums = outputs;
    return;
  }
  for (size_t b = 0; b < sums.size(); ++b) {
    for (size_t i = 0; i < sums[b].values.size(); ++i) sums[b].values[i] += outputs[b].values[i];
  }
}

}  // namespace

int test_command() {
  refuse_gpu();
  require_flag("test", "model", FLAGS_model);
  require_flag("test", "weights", FLAGS_weights);
  if (FLAGS_iterations <= 0) throw Error(ErrorKind::kUsage, "-iterations must be at least 1");
  LOG(INFO) << "Use CPU.";
  const std::unique_ptr<RecordingTuner> tuner = tuner_from_flags();
  NetDef def = net_in_state(FLAGS_model, caffe::TEST, FLAGS_level, stage_flag());
  NetOptions options = net_options_from_flags(caffe::TEST, tuner.get());
  options.backward = false;
  options.keep_blobs = def.param.debug_info();
  const bool debug = def.param.debug_info();
  Net net(std::move(def), options);
  load_weights({FLAGS_weights}, net, "Testing");
  if (debug) set_debug_info(net, true);
  if (FLAGS_sampling) return 0;

  LOG(INFO) << "Running for " << FLAGS_iterations << " iterations.";
  std::vector<OutputBlob> sums;
  double loss = 0;
  for (int i = 0; i < FLAGS_iterations; ++i) {
    const uint64_t batch = static_cast<uint64_t>(net.batch()), first = static_cast<uint64_t>(i) * batch;
    loss += net.forward({options.seed, first, first + batch, net.batch()});
    add(sums, read_outputs(net), i);
  }
  LOG(INFO) << "Loss: " << loss / FLAGS_iterations;
  for (const OutputBlob& blob : sums) {
    for (const double sum : blob.values) {
      const double mean = sum / FLAGS_iterations;
      LOG(INFO) << blob.name << " = " << mean << loss_note(blob.weight, mean);
    }
  }
  return 0;
}

}  // namespace robusta
