/// A batch on its way from a source to the net, in memory of the host that the net reads without another copy.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/pixel_form.h"
#include "device/device.h"
#include "memory/placement.h"
#include "tensor/shape.h"

namespace robusta {

/// Which samples a batch holds.
struct BatchPlan {
  uint64_t seed = 0;   ///< random_seed of the run
  uint64_t first = 0;  ///< global position of its first sample
  int64_t size = 1;    ///< number of samples: first .. first + size - 1

  friend bool operator==(const BatchPlan&, const BatchPlan&) = default;
};

/// The shape of a top for a batch of items of shape `item`.
inline Shape batch_of(int64_t batch, const Shape& item) {
  std::vector<int64_t> dims{batch};
  dims.insert(dims.end(), item.dims().begin(), item.dims().end());
  return Shape(std::move(dims));
}

/// How a batch lies in memory: its tops one behind the other, as f32, each aligned to kMemoryAlignment. With pixels,
/// top 0 [batch, C, H, W] is the windows of its samples and then their bytes (data/pixel_form.h) in place of numbers.
class BatchLayout {
 public:
  BatchLayout() = default;
  explicit BatchLayout(std::vector<Shape> tops, bool pixels = false) : tops_(std::move(tops)), pixels_(pixels) {
    for (size_t top = 0; top < tops_.size(); ++top) {
      const auto count = static_cast<size_t>(tops_[top].count());
      const bool as_pixels = pixels_ && top == 0;
      if (as_pixels) bytes_ = align_up(static_cast<size_t>(tops_[0][0]) * sizeof(PixelWindow));
      offsets_.push_back(bytes_);
      bytes_ += align_up(count * (as_pixels ? sizeof(uint8_t) : sizeof(float)));
    }
  }

  const std::vector<Shape>& tops() const { return tops_; }
  bool pixels() const { return pixels_; }
  /// Where a top's numbers begin, or the bytes of its pixels. The windows begin at 0.
  size_t offset(size_t top) const { return offsets_[top]; }
  /// Of all tops.
  size_t bytes() const { return bytes_; }

  friend bool operator==(const BatchLayout&, const BatchLayout&) = default;

 private:
  std::vector<Shape> tops_;
  std::vector<size_t> offsets_;  ///< bytes, of each top
  size_t bytes_ = 0;
  bool pixels_ = false;
};

struct Batch {
  BatchPlan plan;
  BatchLayout layout;
  std::shared_ptr<void> memory;   ///< of the host, for copies to the net's device; used again from batch to batch
  size_t capacity = 0;            ///< bytes of it
  std::shared_ptr<Event> reader;  ///< until it is reached a device still copies from `memory`; null: none does

  char* at(size_t offset) const { return static_cast<char*>(memory.get()) + offset; }
  float* numbers(size_t top) const { return reinterpret_cast<float*>(at(layout.offset(top))); }
  PixelWindow* windows() const { return reinterpret_cast<PixelWindow*>(memory.get()); }
  uint8_t* pixel_bytes() const { return reinterpret_cast<uint8_t*>(at(layout.offset(0))); }
};

/// Fills batches; called from many threads at once.
class BatchFiller {
 public:
  virtual ~BatchFiller() = default;
  /// How the batch of these samples lies. Throws Error.
  virtual BatchLayout layout(const BatchPlan& plan) const = 0;
  /// Writes samples begin..end-1 of the batch, and nothing else. Throws Error at the first that fails.
  virtual void fill(Batch& batch, int64_t begin, int64_t end) const = 0;
};

}  // namespace robusta
