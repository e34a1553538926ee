// What the flags of `caffe` say beyond their plain values.

#include "app/flags/options.h"

#include <limits>

#include "base/bytes.h"
#include "base/log.h"
#include "base/str.h"
#include "comm/launch.h"
#include "robusta/error.h"
#include "solver/files/weights.h"

namespace robusta {

void tell_of_no_effect(const Options& options) {
  if (own_launch().rank > 0) return;
  for (const FlagBase* flag : options.flags()) {
    if (flag->given() && flag->use().kind == FlagUse::Kind::kNoEffect)
      LOG_INFO << '-' << flag->name() << " is accepted and changes nothing here";
  }
}

void refuse_wrong_numbers(const Options& options) {
  const auto refuse_beyond = [](const Flag<int32_t>& flag, int32_t least, int32_t most, const std::string& fix) {
    if (flag() >= least && flag() <= most) return;
    throw Error(ErrorKind::kUsage, str('-', flag.name(), ' ', flag()), fix);
  };
  constexpr int32_t kMostThreads = 4096;  // more than any machine has processors
  refuse_beyond(options.data_threads, 0, kMostThreads, str("give 0 to ", kMostThreads));
  refuse_beyond(options.n_group, 1, std::numeric_limits<int32_t>::max(), "give 1 or more groups");
  refuse_beyond(options.n_server, 0, std::numeric_limits<int32_t>::max(), "give 0 or more servers");
  refuse_beyond(options.micro_batches, 1, std::numeric_limits<int32_t>::max(), "give 1 or more micro-batches");
  refuse_beyond(options.iterations, 1, std::numeric_limits<int32_t>::max(), "give 1 or more");
  constexpr double kMostSeconds = 60;
  if (!(options.peak_seconds() >= 0 && options.peak_seconds() <= kMostSeconds)) {
    throw Error(ErrorKind::kUsage, str("-peak_seconds ", options.peak_seconds()), str("give 0 to ", kMostSeconds));
  }
  // Whoever starts the program again by this code must not do so after an error of another kind.
  const int32_t restart = options.restart_code();
  const bool is_of_an_error = restart > 0 && (restart <= static_cast<int32_t>(ErrorKind::kDevice) ||
                                              restart == static_cast<int32_t>(ErrorKind::kInternal));
  if (is_of_an_error) {
    throw Error(ErrorKind::kUsage, str("-restart_code ", restart, " is the exit code of an error (docs/errors.md)"),
                "give another one from 11 to 255; 138, say");
  }
  refuse_beyond(options.restart_code, 0, 255, "give 11 to 255, or 0");
}

std::vector<std::pair<std::string, std::string>> flags_of_the_job(const Options& options) {
  std::vector<std::pair<std::string, std::string>> flags;
  for (const FlagBase* flag : options.flags()) {
    if (flag->use().kind == FlagUse::Kind::kJob) flags.emplace_back('-' + flag->name(), flag->text());
  }
  return flags;
}

void require_flag(const std::string& action, const std::string& flag, const std::string& value) {
  if (!value.empty()) return;
  throw Error(ErrorKind::kUsage, "caffe " + action + " needs -" + flag, "see caffe --help");
}

size_t size_flag(const Flag<std::string>& flag) {
  if (flag().empty()) return 0;
  if (const size_t bytes = parse_bytes(flag()); bytes > 0) return bytes;
  throw Error(ErrorKind::kUsage, "-" + flag.name() + " \"" + flag() + "\" is no size",
              "write 16G, 800M or a number of bytes");
}

int64_t batch_flag(const Options& options) {
  const std::string& text = options.batch();
  if (text.empty()) return 0;
  size_t used = 0;
  int64_t batch = 0;
  try {
    batch = std::stoll(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used == text.size() && batch > 0) return batch;
  throw Error(ErrorKind::kUsage, "-batch \"" + text + "\" is no number of samples", "give 1 or more");
}

std::vector<std::string> stage_flag(const Options& options) { return split_list(options.stage()); }

std::string describe_flags(const Options& options) { return options.describe(); }

}  // namespace robusta
