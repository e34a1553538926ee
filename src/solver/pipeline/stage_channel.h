/// What one stage of a pipeline sends to another: contents, or gradients, of one blob, micro-batch after micro-batch.
///
/// A bounded buffer (Dijkstra 1965, "Cooperating sequential processes", section 4.3) in host memory from which copies
/// to and from devices are fast. One thread fills it and one empties it, each in the order of the micro-batches. Who
/// waits is woken, too, when a stage of the pipeline has failed.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>

#include "device/device.h"
#include "tensor/tensor.h"

namespace robusta {

/// What the channels of a pipeline have in common.
struct PipelineSignal {
  std::mutex mutex;
  std::condition_variable changed;
  bool broken = false;  ///< guarded by mutex: a stage has failed

  /// All who wait are woken, and nobody waits any more.
  void break_off() {
    {
      const std::lock_guard lock(mutex);
      broken = true;
    }
    changed.notify_all();
  }
  /// After that, once nobody works.
  void mend() {
    const std::lock_guard lock(mutex);
    broken = false;
  }
};

/// Thrown by whoever waits when another stage has failed, whose error counts.
struct PipelineBroken {};

class StageChannel {
 public:
  /// Of so many places. `desc`: plain, as it travels. `device`: one of the two; host memory is the same for both.
  StageChannel(PipelineSignal& signal, Device& device, TensorDesc desc, int places);

  const TensorDesc& desc() const { return desc_; }

  /// Waits for a free place. It is the sender's until filled().
  void* next_to_fill();
  void filled();
  /// Waits for a full place. It is the receiver's until emptied().
  const void* next_to_empty();
  void emptied();
  /// All places are free. REQUIRES: nobody fills or empties any.
  void clear();

 private:
  void* place(int64_t number) const;

  PipelineSignal& signal_;
  const TensorDesc desc_;
  const int places_;
  std::shared_ptr<void> memory_;
  int64_t filled_ = 0, emptied_ = 0;  ///< places, since clear(); guarded by signal_.mutex
};

}  // namespace robusta
