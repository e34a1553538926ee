// Timing of kernels, as FFTW's planner does it (Frigo and Johnson 2005, "The Design and Implementation of FFTW3"):
// every option runs on the machine at hand, and the record of the winners is kept.
//
// What always holds: a choice that was used is never changed within a run, for another kernel sums in another order.

#include "net/tuning.h"

#include <dnnl.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "base/atomic_file.h"
#include "base/cache_file.h"
#include "base/log.h"
#include "base/output_place.h"
#include "base/str.h"
#include "device/cpu/processor.h"
#include "robusta/error.h"

namespace robusta {
namespace {

double seconds_of(const std::function<void(int)>& run, int option) {
  const auto start = std::chrono::steady_clock::now();
  run(option);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// An option that runs, and the least of its times: noise only ever adds.
struct Contender {
  int option = 0;
  double seconds = 0;
};

/// What first runs are good for.
struct Pace {
  bool first_counts;      ///< where it does not, all run again before any is dropped
  double clearly_slower;  ///< than the fastest, this many times: who is, after one run that counts, runs no more
};
constexpr Pace kHost{.first_counts = true, .clearly_slower = 3};
/// A plan is made, and its kernels are compiled and loaded, when an option runs first; from then on times differ
/// little.
constexpr Pace kGpu{.first_counts = false, .clearly_slower = 2};

/// Those that run, with the times of their first runs.
std::vector<Contender> entrants(const std::vector<std::string>& options, const std::function<void(int)>& run) {
  std::vector<Contender> contenders;
  for (int option = 0; option < static_cast<int>(options.size()); ++option) {
    try {
      contenders.push_back({option, seconds_of(run, option)});
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kUnsupported) throw;
    }
  }
  return contenders;
}

/// Every option once or twice, and again, turn about, those that may still be the fastest: the closer they are, the
/// more often. On the host the first of all runs touches the memory of all: by itself it drops nobody.
int fastest(const std::vector<std::string>& options, const std::function<void(int)>& run, const Pace& pace) {
  std::vector<Contender> contenders = entrants(options, run);
  if (contenders.empty()) return 0;
  if (!pace.first_counts) {
    for (Contender& one : contenders) one.seconds = seconds_of(run, one.option);
  }
  const auto by_time = [](const Contender& a, const Contender& b) { return a.seconds < b.seconds; };
  const double least = std::ranges::min_element(contenders, by_time)->seconds;
  std::erase_if(contenders, [&](const Contender& one) {
    const bool spared = pace.first_counts && one.option == 0;
    return !spared && one.seconds > pace.clearly_slower * least;
  });
  // How much slower than the fastest one that stays may be, round by round.
  for (const double slower : {2.0, 1.5, 1.25, 1.1, 1.1, 1.05, 1.05}) {
    if (contenders.size() < 2) break;
    for (Contender& one : contenders) one.seconds = std::min(one.seconds, seconds_of(run, one.option));
    const double fastest = std::ranges::min_element(contenders, by_time)->seconds;
    std::erase_if(contenders, [&](const Contender& one) { return one.seconds > slower * fastest; });
  }
  return std::ranges::min_element(contenders, by_time)->option;
}

/// Tells lists of options apart (FNV-1a), so that a choice is made anew when a build offers others.
std::string fingerprint(const std::vector<std::string>& options) {
  uint32_t hash = 2166136261u;
  for (const std::string& option : options) {
    for (const char c : option + ' ') hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  }
  return str(options.size(), "of", hash);
}

int index_of(const KernelChoices& choices, const std::string& key, const std::vector<std::string>& options) {
  const auto found = choices.find(key);
  if (found == choices.end()) return -1;
  const auto option = std::find(options.begin(), options.end(), found->second);
  return option == options.end() ? -1 : static_cast<int>(option - options.begin());
}

}  // namespace

std::string machine_key() {
  std::string model = processor_model();
  if (model.empty()) model = "cpu";
  std::replace_if(
      model.begin(), model.end(), [](char c) { return c == ' ' || c == '\t'; }, '_');
  const dnnl_version_t& onednn = *dnnl_version();
  static const std::string digest = processor_digest();
  return str(model, "/", digest, "/", omp_get_max_threads(), "/onednn", onednn.major, ".", onednn.minor, ".",
             onednn.patch);
}

std::string default_tuning_cache() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache) return str(cache, "/robusta/kernels");
  if (const char* home = std::getenv("HOME"); home && *home) return str(home, "/.cache/robusta/kernels");
  return "";
}

RecordingTuner::RecordingTuner(std::string cache_file) : file_(std::move(cache_file)) { load(); }

RecordingTuner::~RecordingTuner() { save(); }

void RecordingTuner::load() {
  std::istringstream in(read_cache_file(file_));
  for (std::string key, option; in >> key >> option;) cached_[key] = option;
}

void RecordingTuner::preset(const KernelChoices& choices) {
  for (const auto& [key, option] : choices) preset_[key] = option;
}

int RecordingTuner::choose(const std::string& key, const std::vector<std::string>& options,
                           const std::function<void(int)>& run) {
  const bool on_gpu = key.starts_with(kGpuKeys);
  const std::string machine = on_gpu ? "gpu" : machine_key();
  const std::string cache_key = str(machine, "/", key, "/", fingerprint(options));
  int chosen = index_of(preset_, key, options);
  if (chosen < 0 && preset_.contains(key)) {
    LOG_WARNING << "kernel " << preset_[key] << " of the resumed run is not offered here for " << key
                << "; the last digits of the results may differ";
  }
  if (chosen < 0) chosen = index_of(used_, key, options);
  if (chosen < 0) chosen = index_of(cached_, cache_key, options);
  if (chosen < 0) {
    chosen = options.size() == 1 ? 0 : fastest(options, run, on_gpu ? kGpu : kHost);
    cached_[cache_key] = options[static_cast<size_t>(chosen)];
    dirty_ = true;
    // What was timed is not lost with a run that is ended while it tunes. A GPU's plans take longer than the file.
    if (on_gpu || std::chrono::steady_clock::now() - saved_ > std::chrono::seconds(1)) save();
  }
  used_[key] = options[static_cast<size_t>(chosen)];
  return chosen;
}

void RecordingTuner::save() {
  if (!dirty_ || file_.empty()) return;
  dirty_ = false;
  saved_ = std::chrono::steady_clock::now();
  try {
    std::filesystem::create_directories(folder_of(file_));
    // Another process may have added its choices meanwhile; ours win where both have one.
    const KernelChoices ours = cached_;
    load();
    for (const auto& [key, option] : ours) cached_[key] = option;
    std::string text;
    for (const auto& [key, option] : cached_) text += key + " " + option + "\n";
    write_file_atomically(file_, [&](int fd) { write_all(fd, text.data(), text.size()); });
  } catch (const std::exception& error) {
    LOG_WARNING << "kernel timings could not be cached: " << error.what();
  }
}

}  // namespace robusta
