/// Neighbouring elements, several at once. For files named *_gpu.cpp.
///
/// A GPU reaches the rate of its memory only with enough bytes under way: a thread that moves one element of 16 bits at
/// a time leaves most of it unused, and spends more on finding its index. 16 bytes are the widest access there is.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "device/gpu/for_each.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// N elements as they lie in memory, N a power of two. At most 16 bytes are one access.
template <typename T, int N>
struct alignas(N * sizeof(T) < 16 ? N * sizeof(T) : 16) Pack {
  T at[N];
};

/// How many elements of the narrowest of these types are 16 bytes.
template <typename... T>
inline constexpr int kPackWidth = 16 / static_cast<int>(std::min({sizeof(T)...}));

/// Whether packs of any width can be read from and written to all of these arrays; null ones do not matter.
template <typename... T>
bool on_packs(const T*... arrays) {
#ifdef ROBUSTA_COUNTS_CALLS
  if (detail::asked_arrays) {
    (detail::ask_for(arrays), ...);
    return true;
  }
#endif
  return ((reinterpret_cast<uintptr_t>(arrays) % 16 == 0) && ...);
}

namespace detail {

/// The compiler cuts a struct into its members, and does not always join the stores of those again.
template <typename T, int N>
ROBUSTA_GPU void store_whole(const Pack<T, N>& pack, T* to) {
#ifdef __CUDA_ARCH__
  constexpr size_t kStores = sizeof(pack) / 16;
  if constexpr (kStores > 0) {
    uint4 words[kStores];
    std::memcpy(words, &pack, sizeof(pack));
    for (size_t i = 0; i < kStores; ++i) {
      asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
                   :
                   : "l"(__cvta_generic_to_global(reinterpret_cast<uint4*>(to) + i)), "r"(words[i].x), "r"(words[i].y),
                     "r"(words[i].z), "r"(words[i].w)
                   : "memory");
    }
    return;
  }
#endif
  *reinterpret_cast<Pack<T, N>*>(to) = pack;
}

}  // namespace detail

/// N elements from `from` on, as they are stored.
template <int N, typename T>
ROBUSTA_GPU Pack<T, N> stored_pack(const T* from) {
  return *reinterpret_cast<const Pack<T, N>*>(from);
}

template <typename T, int N>
ROBUSTA_GPU Pack<float, N> as_floats(const Pack<T, N>& stored) {
  Pack<float, N> values;
  for (int k = 0; k < N; ++k) values.at[k] = static_cast<float>(stored.at[k]);
  return values;
}

/// N elements from `from` on, as floats.
template <int N, typename T>
ROBUSTA_GPU Pack<float, N> load_pack(const T* from) {
  return as_floats(stored_pack<N>(from));
}

/// Packs of two arrays.
template <typename T, int N>
struct PackPair {
  Pack<T, N> first, second;
};

/// N floats, rounded, into the elements from `to` on.
template <int N, typename T>
ROBUSTA_GPU void store_pack(const Pack<float, N>& values, T* to) {
  Pack<T, N> stored;
  for (int k = 0; k < N; ++k) stored.at[k] = static_cast<T>(values.at[k]);
  detail::store_whole(stored, to);
}

namespace detail {

/// What is left behind the last whole pack goes element by element; all does, where `width` is 1.
template <typename Body>
struct PackOfMany {
  Body body;
  int64_t count;
  int width;
  ROBUSTA_GPU void operator()(int64_t pack) const {
    const int64_t first = pack * width, end = first + width < count ? first + width : count;
    if (width == Body::kWidth && end - first == width) {
      body.template run<Body::kWidth>(first);
    } else {
      ROBUSTA_NO_UNROLL for (int64_t i = first; i < end; ++i) body.template run<1>(i);
    }
  }
};

}  // namespace detail

/// Runs a body over the elements 0 <= i < count, in any order, in packs where that can be. `Body` says:
///   static constexpr int kWidth                                elements of a pack
///   bool in_packs() const                                      on_packs(...) of its arrays
///   template <int N> ROBUSTA_GPU void run(int64_t i) const     elements i ... i + N - 1; N is kWidth or 1
template <typename Body>
void for_each_pack(Stream* stream, int64_t count, const Body& body) {
#ifdef ROBUSTA_COUNTS_CALLS
  if (count <= 0 || !detail::runs(stream, body, count)) return;
  stream = nullptr;  // counted already
#endif
  const int width = body.in_packs() ? Body::kWidth : 1;
  for_each(stream, (count + width - 1) / width, detail::PackOfMany<Body>{body, count, width});
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
