#include <glog/logging.h>

#include <cctype>
#include <iostream>

#include "base/str.h"
#include "data/settings.h"
#include "device/cpu/host_memory.h"
#include "net/report.h"
#include "robusta/error.h"
#include "solver/commands/commands.h"
#include "solver/commands/flags.h"
#include "solver/commands/subject.h"
#include "solver/update_rule.h"

namespace robusta {
namespace {

/// "16G", "800M", "4096K" or bytes. Throws Error{kUsage}.
size_t parse_bytes(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  std::string unit(end);
  for (char& c : unit) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  const double scale = unit == "G" || unit == "GB" || unit == "GIB"   ? 0x1p30
                       : unit == "M" || unit == "MB" || unit == "MIB" ? 0x1p20
                       : unit == "K" || unit == "KB" || unit == "KIB" ? 0x1p10
                       : unit.empty()                                 ? 1
                                                                      : 0;
  if (end == text.c_str() || !(number > 0) || scale == 0 || number * scale > 0x1p60) {
    throw Error(ErrorKind::kUsage, "-memory \"" + text + "\" is no size", "write 16G, 800M or a number of bytes");
  }
  return static_cast<size_t>(number * scale);
}

Net planned(const Subject& subject, int64_t batch, Tuner* tuner) {
  NetOptions options = net_options_from_flags(subject.phase, nullptr);
  options.tuner = tuner;
  options.plan_only = true;
  options.backward = subject.phase == caffe::TRAIN && !FLAGS_forward_only;
  if (batch > 0) options.batch = batch;
  return Net(subject.net, options);
}

}  // namespace

int plan_command() {
  refuse_gpu();
  data_settings().synthesize_missing = true;
  const size_t memory = FLAGS_memory.empty() ? available_host_memory() : parse_bytes(FLAGS_memory);
  const Subject subject = subject_from_flags("plan");
  const std::unique_ptr<RecordingTuner> tuner = tuner_from_flags();
  const int histories = make_update_rule(subject.solver)->histories();
  print_plan(std::cout, planned(subject, 0, tuner.get()), histories);

  // The search builds many nets: their building lines would bury the answer.
  const int log_level = FLAGS_minloglevel;
  FLAGS_minloglevel = google::WARNING;
  const int64_t largest = largest_batch(
      memory, [&](int64_t batch) { return memory_use(planned(subject, batch, nullptr), histories).total(); });
  FLAGS_minloglevel = log_level;
  std::cout << "Largest batch that fits in " << (memory >> 20) << " MiB"
            << (FLAGS_memory.empty() ? " (available now; -memory SIZE asks about another machine)" : "") << ": "
            << largest << std::endl;
  return 0;
}

}  // namespace robusta
