/// Short vectors of floats and integers that the compiler maps to whatever registers an instruction set has.
///
/// For use inside of ROBUSTA_SIMD functions. Helpers must take them by reference: how vectors are passed by value
/// depends on the instruction set. Aligned as their elements, so that any address will do.
#pragma once

#include <cstdint>

namespace robusta {

template <int N, typename T>
struct VectorOf {
  typedef T type __attribute__((vector_size(N * sizeof(T)), aligned(alignof(T)), may_alias));
};
template <int N>
using Floats = typename VectorOf<N, float>::type;
template <int N>
using Ints = typename VectorOf<N, int32_t>::type;

template <int N>
inline const Floats<N>& floats_at(const float* from) {
  return *reinterpret_cast<const Floats<N>*>(from);
}
template <int N>
inline Floats<N>& floats_at(float* from) {
  return *reinterpret_cast<Floats<N>*>(from);
}

}  // namespace robusta
