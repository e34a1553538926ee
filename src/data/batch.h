/// A batch on its way from a source to the net, in host memory.
#pragma once

#include <cstdint>
#include <vector>

#include "data/pixel_form.h"
#include "tensor/shape.h"

namespace robusta {

/// Which samples a batch holds.
struct BatchPlan {
  uint64_t seed = 0;   ///< random_seed of the run
  uint64_t first = 0;  ///< global position of its first sample
  int64_t size = 1;    ///< number of samples: first .. first + size - 1

  friend bool operator==(const BatchPlan&, const BatchPlan&) = default;
};

/// One array of a batch: what becomes one top.
struct BatchArray {
  Shape shape;
  std::vector<float> values;

  void reset(const Shape& size) {
    shape = size;
    values.resize(static_cast<size_t>(size.count()));
  }
};

struct Batch {
  BatchPlan plan;
  std::vector<BatchArray> arrays;  ///< reused from batch to batch
  PixelBatch pixels;               ///< in place of array 0's values, where the filler says so
};

/// Fills batches; called from many threads at once.
class BatchFiller {
 public:
  virtual ~BatchFiller() = default;
  /// Sets the arrays' shapes and memory for batch.plan. Throws Error.
  virtual void open(Batch& batch) const = 0;
  /// Writes samples begin..end-1 of the batch, and nothing else. Throws Error at the first that fails.
  virtual void fill(Batch& batch, int64_t begin, int64_t end) const = 0;
};

}  // namespace robusta
