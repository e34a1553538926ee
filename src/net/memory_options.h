/// How much memory nets may take of their device, and what is done when that is not enough.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <string>

namespace robusta {

/// Arrays as large as the parameters which an update keeps beside them and their gradients: histories, an average.
struct UpdateArrays {
  int per_parameter = 0;
  int ranks = 1;  ///< that share them out: each keeps its part

  /// Of a rank, for so many bytes of parameters.
  size_t bytes(size_t parameters) const {
    const auto shares = static_cast<size_t>(ranks);
    return (parameters * static_cast<size_t>(per_parameter) + shares - 1) / shares;
  }
};

/// Memory for everything that the nets of one training keep on their device.
struct MemoryBudget {
  static constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();

  size_t limit = kNoLimit;  ///< bytes
  std::string source;       ///< for messages: where the limit comes from, "-gpu_memory"
  UpdateArrays update;      ///< what the update will want
  size_t taken =
      0;  ///< by parameters, gradients, histories and persistent values of all nets so far: all but the arena

  size_t left() const { return limit == kNoLimit ? kNoLimit : limit > taken ? limit - taken : 0; }
};

/// Large model support: contents that a pass does not need for a while move to the host (memory/residency.h).
struct LmsOptions {
  enum class Mode {
    kOff,
    kAuto,       ///< what has to move so that all fits
    kThreshold,  ///< all of at least `min_bytes` that waits from forward to backward
  };
  Mode mode = Mode::kOff;
  size_t min_bytes = 0;  ///< smaller values stay where they are
  double fraction = 0;   ///< of the budget: nothing more moves once all else fits in it
  int processes = 1;     ///< of this host that will take memory of the host for it
};

/// What the machine does per second, for predictions.
struct MachineRates {
  double flops = 15e12;   ///< a multiply-add counted as two
  double memory = 900e9;  ///< bytes read or written by kernels
  double link = 12e9;     ///< bytes between host and device, each way
};

/// All of it, for the nets of one training.
struct MemoryOptions {
  std::shared_ptr<MemoryBudget> budget;  ///< null: no limit is known
  LmsOptions lms;
  MachineRates rates;
};

}  // namespace robusta
