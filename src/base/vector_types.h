/// Short vectors of floats and integers that the compiler maps to whatever registers an instruction set has.
///
/// For use inside of ROBUSTA_SIMD functions. Helpers must take them by reference: how vectors are passed by value
/// depends on the instruction set. Aligned as their elements, so that any address will do.
#pragma once

#include <cstdint>

namespace robusta {

#ifdef __clang__
#define ROBUSTA_VECTOR_ALIGNMENT( \
    T)  // its own: clang forgets another one behind a reference, and loads as if it had its own
#else
#define ROBUSTA_VECTOR_ALIGNMENT(T) , aligned(alignof(T))
#endif
template <int N, typename T>
struct VectorOf {
  typedef T type __attribute__((vector_size(N * sizeof(T)), may_alias ROBUSTA_VECTOR_ALIGNMENT(T)));
};
#undef ROBUSTA_VECTOR_ALIGNMENT
template <int N>
using Floats = typename VectorOf<N, float>::type;
template <int N>
using Ints = typename VectorOf<N, int32_t>::type;

/// Numbers that lie anywhere, to be read and written as a vector.
#ifdef __clang__
template <int N>
__attribute__((always_inline)) inline Floats<N> floats_at(const float* from) {
  Floats<N> floats;
  __builtin_memcpy(&floats, from, sizeof floats);
  return floats;
}
template <int N>
struct FloatsPlace {
  float* at;
  __attribute__((always_inline)) operator Floats<N>() const { return floats_at<N>(static_cast<const float*>(at)); }
  __attribute__((always_inline)) void operator=(const Floats<N>& floats) const {
    __builtin_memcpy(at, &floats, sizeof floats);
  }
  __attribute__((always_inline)) void operator-=(const Floats<N>& floats) const { *this = Floats<N>(*this) - floats; }
};
template <int N>
__attribute__((always_inline)) inline FloatsPlace<N> floats_at(float* from) {
  return {from};
}
#else
template <int N>
inline const Floats<N>& floats_at(const float* from) {
  return *reinterpret_cast<const Floats<N>*>(from);
}
template <int N>
inline Floats<N>& floats_at(float* from) {
  return *reinterpret_cast<Floats<N>*>(from);
}
#endif

}  // namespace robusta
