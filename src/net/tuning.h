/// Choosing kernels by timing them, once per shape, machine and version of oneDNN.
///
/// Choices come, in this order, from a preset (a resumed run must sum in the same order as before), from the
/// cache file, from timing. All that were used can be read back and are saved with the training state.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "layers/kit/kernel.h"

namespace robusta {

using KernelChoices = std::map<std::string, std::string>;

/// Keys that begin so name a GPU and the version of its library; the processor beside it does not matter to them.
constexpr const char* kGpuKeys = "cudnn";

class RecordingTuner : public Tuner {
 public:
  /// `cache_file` "": no file. A file that cannot be read or written is ignored with a warning: it is only a cache.
  /// After `longest` seconds of timing on the host, options run once: a net of many layers has to begin, too.
  explicit RecordingTuner(std::string cache_file, double longest = 3.5);
  ~RecordingTuner() override;

  int choose(const std::string& key, const std::vector<std::string>& options,
             const std::function<void(int)>& run) override;

  /// These choices win over file and timing (an option that is not offered any more is ignored with a warning).
  void preset(const KernelChoices& choices);
  /// All choices made so far.
  const KernelChoices& choices() const { return used_; }
  /// Writes new choices to the cache file now. The destructor does it too, and choose() about once a second,
  /// for a GPU each time.
  void save();

 private:
  int fastest(int options, const std::function<void(int)>& run, bool on_gpu);

  std::string file_;
  KernelChoices preset_, cached_, used_;  ///< of a resumed state or of rank 0; of the file; asked for so far
  bool dirty_ = false;
  double longest_, spent_ = 0;  ///< seconds in contests on the host: that there may be, and that there were
  std::chrono::steady_clock::time_point saved_ = std::chrono::steady_clock::now();
};

/// $XDG_CACHE_HOME/robusta/kernels or ~/.cache/robusta/kernels; "" when neither variable is set.
std::string default_tuning_cache();

/// Processor model and digest, thread count and oneDNN's version: part of every cache key, since the fastest kernel
/// depends on them all. Kernels of one name need not be the same in two versions.
std::string machine_key();

}  // namespace robusta
