/// Tells whoever counts what is launched (KernelCounter), where a GPU's kernels run on the host. For the primitives
/// beside this file.
///
/// Which arrays a kernel touches is seen from its body, a small struct of pointers and numbers: each pointer in it
/// stands for one pass over an array. How much of it that is tells the body's in_packs(), which hands all arrays of its
/// loops to on_packs(), typed; of others all is taken, to the end of their memory. A body for which this is not so says
///   void touches(int64_t count, KernelArrays& to) const
/// where `count` is that of the primitive: elements, or indices of for_each.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "device/device.h"
#include "device/gpu/target.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// What a kernel reads and writes.
class KernelArrays {
 public:
  /// `times`: 2 where elements are read, and written in their place.
  template <typename T>
  void add(const T* array, int64_t elements, int times = 1) {
    for (int i = 0; array && i < times; ++i) list_.push_back({array, elements * static_cast<int64_t>(sizeof(T))});
  }
  void add(KernelCall::Array array) { list_.push_back(array); }
  const std::vector<KernelCall::Array>& list() const { return list_; }

 private:
  std::vector<KernelCall::Array> list_;
};

#if !defined(__CUDACC__) && !defined(ROBUSTA_GPU_THREADS) && !defined(ROBUSTA_CUDA_CALLER)
#define ROBUSTA_COUNTS_CALLS

namespace detail {

/// Where on_packs() writes down what it is asked about, while a body is asked for its arrays; data and bytes of one
/// element.
inline thread_local std::vector<KernelCall::Array>* asked_arrays = nullptr;

template <typename T>
void ask_for(const T* array) {
  if constexpr (!std::is_void_v<T>) asked_arrays->push_back({array, sizeof(T)});
}

template <typename Body>
void ask_for_arrays(const Body& body, std::vector<KernelCall::Array>& elements) {
  if constexpr (requires { body.in_packs(); }) {
    asked_arrays = &elements;
    body.in_packs();
    asked_arrays = nullptr;
  }
}

/// All words of a body: its pointers, and others that nobody will take for one. `elements`: as ask_for_arrays has them.
void scan(const void* body, size_t bytes, int64_t count, const std::vector<KernelCall::Array>& elements,
          KernelArrays& to);

template <typename Body>
void list_arrays(const Body& body, int64_t count, KernelArrays& to) {
  if constexpr (requires { body.touches(count, to); }) {
    body.touches(count, to);
  } else {
    std::vector<KernelCall::Array> elements;
    ask_for_arrays(body, elements);
    scan(&body, sizeof body, count, elements, to);
  }
}

/// False: the launch is counted, and nothing more.
template <typename List>
bool runs_call(Stream* stream, double flops, const List& list) {
  KernelCounter* const counter = stream ? stream->counter() : nullptr;
  if (!counter) return true;
  KernelArrays arrays;
  if (counter->wants_arrays()) list(arrays);
  return counter->count({arrays.list(), flops});
}

template <typename Body>
bool runs(Stream* stream, const Body& body, int64_t count) {
  return runs_call(stream, 0, [&](KernelArrays& to) { list_arrays(body, count, to); });
}

}  // namespace detail

#endif

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
