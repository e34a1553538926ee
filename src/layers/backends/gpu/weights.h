/// Weights beside activations of 16 bits. For files named *_gpu.cpp.
///
/// Parameters are f32. A matrix product takes both factors in one type, so a pass rounds the weights into scratch
/// memory each time it runs: training changes them anyway, and a pass that does the same each time can be part of a
/// CUDA graph.
#pragma once

#include "device/gpu/pack.h"
#include "memory/placement.h"
#include "tensor/dtype.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

namespace detail {

template <typename T>
struct RoundWeight {
  static constexpr int kWidth = kPackWidth<T>;
  const float* from;
  T* to;
  bool in_packs() const { return on_packs(from, to); }
  template <int N>
  ROBUSTA_GPU void run(int64_t i) const {
    store_pack(load_pack<N>(from + i), to + i);
  }
};

}  // namespace detail

/// Bytes that stored_weights<T> needs, a multiple of what memory is aligned to.
template <typename T>
size_t stored_weights_bytes(int64_t count) {
  return dtype_of<T>() == DType::kF32 ? 0 : align_up(static_cast<size_t>(count) * sizeof(T));
}

/// The weights themselves where T is float, else a copy in `memory`.
template <typename T>
const T* stored_weights(Stream* stream, const float* weights, int64_t count, void* memory) {
  if constexpr (dtype_of<T>() == DType::kF32) {
    return weights;
  } else {
    for_each_pack(stream, count, detail::RoundWeight<T>{weights, static_cast<T*>(memory)});
    return static_cast<const T*>(memory);
  }
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
