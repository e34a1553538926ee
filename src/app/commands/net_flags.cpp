#include <set>

#include "app/commands/commands.h"
#include "app/commands/flags.h"
#include "base/nearest.h"
#include "net/plan/precision.h"
#include "robusta/error.h"

namespace robusta {

std::string kernels_flag() {
  std::set<std::string> known = {"auto"};
  for (const std::string& type : layer_types()) {
    for (const KernelCandidate* candidate : kernel_candidates(type, "cpu")) known.insert(candidate->backend);
  }
  if (known.contains(FLAGS_kernels)) return FLAGS_kernels;
  std::string list;
  for (const std::string& name : known) list += (list.empty() ? "" : ", ") + name;
  throw Error(ErrorKind::kUsage,
              "-kernels \"" + FLAGS_kernels + "\"" + did_you_mean(FLAGS_kernels, {known.begin(), known.end()}),
              "known: " + list);
}

std::optional<DType> precision_flag() {
  if (FLAGS_precision.empty()) return std::nullopt;
  return precision_from(FLAGS_precision);
}

std::unique_ptr<RecordingTuner> tuner_from_flags() {
  if (!FLAGS_autotune || FLAGS_deterministic) return nullptr;
  return std::make_unique<RecordingTuner>(FLAGS_tune_cache.empty() ? default_tuning_cache() : FLAGS_tune_cache);
}

DataSettings data_settings_from_flags() {
  DataSettings settings;
  settings.threads = FLAGS_data_threads;
  settings.shuffle = FLAGS_shuffle;
  return settings;
}

NetOptions net_options_from_flags(caffe::Phase phase, RecordingTuner* tuner) {
  NetOptions options;
  options.phase = phase;
  options.kernels = kernels_flag();
  options.precision = precision_flag();
  options.share_memory = FLAGS_share_memory;
  options.batch = batch_flag();
  options.data = data_settings_from_flags();
  options.tuner = tuner;
  return options;
}

}  // namespace robusta
