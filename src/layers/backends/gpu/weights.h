/// Weights beside activations of 16 bits. For files named *_gpu.cpp.
///
/// Parameters are f32. A matrix product takes both factors in one type: all weights of a net are rounded in one or two
/// launches when a pass begins (Booking::packed). Where the net has no memory for that, a kernel rounds its own into
/// scratch memory each time it runs.
#pragma once

#include "device/gpu/pack.h"
#include "layers/kit/kernel.h"
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

/// Asks for a copy of parameter 0, of `count` elements, at the beginning of a pass, where T is not float.
template <typename T>
void book_stored_weights(int64_t count, Booking& booking) {
  if (dtype_of<T>() != DType::kF32) booking.packed = {{0, dtype_of<T>(), 1, count, 1}};
}

/// The same as stored_weights, of parameter 0, from there if it is there.
template <typename T>
const T* weights_of_run(const KernelRun& run, int64_t count, void* memory) {
  if (!run.packed.empty()) return static_cast<const T*>(run.packed[0]);
  return stored_weights<T>(run.stream, run.params[0]->tensor().as<float>(), count, memory);
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
