// Timing of kernels, and the record of the winners.
//
// What always holds: a choice that was used is never changed within a run, for another kernel sums in another order.

#include "net/tuning.h"

#include <dnnl.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <sstream>
#include <utility>

#include "base/cache_file.h"
#include "base/log.h"
#include "base/str.h"
#include "device/cpu/processor.h"
#include "net/contest.h"

namespace robusta {
namespace {

/// To be counted up where kernels of ours become faster or slower: what was found with others says nothing.
constexpr int kKernels = 4;

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

KernelChoices parse(const std::string& text) {
  KernelChoices choices;
  std::istringstream in(text);
  for (std::string key, option; in >> key >> option;) choices[key] = option;
  return choices;
}

std::string text_of(const KernelChoices& choices) {
  std::string text;
  for (const auto& [key, option] : choices) text += key + " " + option + "\n";
  return text;
}

}  // namespace

std::string machine_key() {
  std::string model = processor_model();
  if (model.empty()) model = "cpu";
  std::replace_if(
      model.begin(), model.end(), [](char c) { return c == ' ' || c == '\t'; }, '_');
  const dnnl_version_t& onednn = *dnnl_version();
  static const std::string digest = processor_digest();
  return str(model, "/", digest, "/", omp_get_max_threads(), "/kernels", kKernels, "/onednn", onednn.major, ".",
             onednn.minor, ".", onednn.patch);
}

std::string default_tuning_cache() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache) return str(cache, "/robusta/kernels");
  if (const char* home = std::getenv("HOME"); home && *home) return str(home, "/.cache/robusta/kernels");
  return "";
}

RecordingTuner::RecordingTuner(std::string cache_file, double longest)
    : file_(std::move(cache_file)), cached_(parse(read_cache_file(file_))), longest_(longest) {}

RecordingTuner::~RecordingTuner() { save(); }

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
    chosen = options.size() == 1 ? 0 : fastest(static_cast<int>(options.size()), run, on_gpu);
    cached_[cache_key] = options[static_cast<size_t>(chosen)];
    dirty_ = true;
    // What was timed is not lost with a run that is ended while it tunes. A GPU's plans take longer than the file.
    if (on_gpu || std::chrono::steady_clock::now() - saved_ > std::chrono::seconds(1)) save();
  }
  used_[key] = options[static_cast<size_t>(chosen)];
  return chosen;
}

int RecordingTuner::fastest(int options, const std::function<void(int)>& run, bool on_gpu) {
  if (on_gpu) return fastest_on_gpu(options, run);
  const auto start = std::chrono::steady_clock::now();
  const bool late = spent_ > longest_;
  const int chosen =
      fastest_on_host(options, run, late ? ContestBudget{.least_rounds = 0, .seconds = 0} : ContestBudget());
  spent_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return chosen;
}

void RecordingTuner::save() {
  if (!dirty_ || file_.empty()) return;
  dirty_ = false;
  saved_ = std::chrono::steady_clock::now();
  try {
    update_cache_file(file_, [this](const std::string& text) {
      // Another process may have added its choices meanwhile; ours win where both have one.
      KernelChoices all = parse(text);
      for (const auto& [key, option] : cached_) all[key] = option;
      cached_ = std::move(all);
      return text_of(cached_);
    });
  } catch (const std::exception& error) {
    LOG_WARNING << "kernel timings could not be cached: " << error.what();
  }
}

}  // namespace robusta
