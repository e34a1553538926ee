/// Copies whose places follow from coordinates: what Tile, Crop, Permute and their like are made of, forward and
/// backward.
///
/// The destination is a box of axes in C order, each of which steps through the source by a stride of its own, as in
/// the strided views of array libraries (van der Walt et al. 2011, "The NumPy Array"). Ends of an axis may see nothing
/// (Pad), and an element may be the sum of several of the source (the gradient of Tile). The transpose of a copy is one
/// again.
#pragma once

#include <cstdint>
#include <vector>

namespace robusta {

/// One axis of the destination: coordinate c sees source coordinate skip + c - before.
struct GatherAxis {
  int64_t extent = 1;             ///< of the destination
  int64_t stride = 0;             ///< elements of the source from one coordinate to the next; 0: repeated
  int64_t skip = 0;               ///< coordinates of the source that come before the first seen
  int64_t before = 0, after = 0;  ///< of the extent: ends that see nothing

  int64_t seen() const { return extent - before - after; }
  friend bool operator==(const GatherAxis&, const GatherAxis&) = default;
};

struct Gather {
  int64_t base = 0;  ///< of the source: where all axes see their first coordinate
  std::vector<GatherAxis> axes;
  int64_t terms = 1, term_stride = 0;  ///< each element is the sum of so many, so far apart
  float fill = 0;                      ///< what stands where nothing is seen

  /// Elements of the destination.
  int64_t count() const;
  /// The source itself, in its order.
  bool is_identity(int64_t source_count) const;
};

/// Of element i of the destination: its place in the source; -1: it sees none.
int64_t place_of(const Gather& gather, int64_t i);

/// The same with as few axes as can be, at least one, and without `skip`s: `base` has them.
Gather coalesced(const std::vector<GatherAxis>& axes);

/// The copy back, whose destination is this one's source, in the order of its memory: each of its elements is the sum
/// of the elements that were copied from it, 0 where there are none. REQUIRES: of the axes that step at all, each one's
/// stride divides those of larger ones and the source, and what it sees fits into the next larger; repeated axes lie
/// side by side.
Gather transposed(const Gather& gather, int64_t source_count);

/// to = what `gather` says of `from`. T is float or double.
template <typename T>
void run_gather(const Gather& gather, const T* from, T* to);
/// The same, faster: rows are copied whole, and transposed in blocks.
void run_gather_fast(const Gather& gather, const float* from, float* to);

/// Elements from one coordinate of each axis to the next, in C order.
std::vector<int64_t> plain_strides(const std::vector<int64_t>& extents);

}  // namespace robusta
