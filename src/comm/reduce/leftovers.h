/// What a lossy format has left out of the elements of an arena so far: a number for each of them.
#pragma once

#include <memory>
#include <vector>

#include "comm/communicator.h"
#include "comm/reduce/stage.h"

namespace robusta {

class Leftovers {
 public:
  /// None.
  Leftovers() = default;
  /// Of f32 in this memory, zero at first; it outlives this. Null: none.
  explicit Leftovers(std::shared_ptr<SharedMemory> arena)
      : arena_(std::move(arena)), values_(arena_ ? arena_->bytes() / sizeof(float) : 0) {}

  bool any() const { return !values_.empty(); }
  /// Those of the span's elements; null where it does not lie in the arena, or holds no f32.
  float* at(const Span& span) {
    if (!any() || span.type != DType::kF32) return nullptr;
    const auto* const begin = static_cast<const std::byte*>(arena_->data());
    if (span.data < begin || span.data + span.bytes() > begin + values_.size() * sizeof(float)) return nullptr;
    return values_.data() + (span.data - begin) / static_cast<std::ptrdiff_t>(sizeof(float));
  }

 private:
  std::shared_ptr<SharedMemory> arena_;
  std::vector<float> values_;
};

}  // namespace robusta
