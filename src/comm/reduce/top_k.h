/// Of a span's elements the largest alone: values and places, for links that are far slower than computing.
///
/// The others are kept, and added the next time, until they are among the largest (Aji and Heafield 2017, "Sparse
/// Communication for Distributed Gradient Descent"; both ways, to the owner of a sum and back, as Tang et al. 2019,
/// "DoubleSqueeze: Parallel Stochastic Gradient Descent with Double-Pass Error-Compensated Compression").
#pragma once

#include <cstddef>
#include <cstdint>

namespace robusta::top_k {

/// Elements of a span: their places are 16 bits.
inline constexpr int64_t kMost = int64_t{1} << 16;

/// How many of `count` elements travel: `share` of them, at least one.
int64_t kept(int64_t count, double share);
/// Of those that travel: values, then places.
size_t bytes(int64_t count, double share);

/// `left` (may be null) is added first, and becomes what does not travel. Of equal ones the first travel. What is not
/// finite is larger than all else, and never left. `to` is aligned for floats. REQUIRES: count <= kMost.
void pack(const float* from, float* left, std::byte* to, int64_t count, double share);
/// The others are 0. Places beyond `count` are passed over.
void unpack(const std::byte* from, float* to, int64_t count, double share);
/// to += unpacked
void add_unpacked(const std::byte* from, float* to, int64_t count, double share);

}  // namespace robusta::top_k
