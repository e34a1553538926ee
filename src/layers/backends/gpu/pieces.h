/// Copies between a tensor and the pieces it consists of along one axis, on the GPU: Concat and Slice, forward and
/// backward (pieces.h). Plain or channels last; the element type does not matter. For files named *_gpu.cpp.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <span>
#include <vector>

#include "device/gpu/divisor.h"
#include "device/gpu/for_each.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/backends/gpu/weighted_sum.h"
#include "tensor/channels_last.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

namespace detail {

/// What is copied at once: as much as the widths of all pieces are multiples of.
struct alignas(16) Unit16 {
  uint64_t low, high;
};

inline constexpr int kPieces = 16;  // that one kernel copies

/// Some neighbouring pieces of each row of the whole: columns at[k] .. at[k+1]-1 are piece k's.
template <typename Unit, bool kJoin>
struct CopyPieces {
  Divisor span;   ///< at[count] - at[0]
  int64_t width;  ///< of the whole
  int64_t at[kPieces + 1];
  Unit* pieces[kPieces];  ///< null: passed over; joining, it counts as zeros
  int count;
  Unit* whole;
  ROBUSTA_GPU void operator()(int64_t i) const {
    int64_t row = i;
    const int64_t col = at[0] + span.take_off(row);
    int k = 0;
    while (col >= at[k + 1]) ++k;
    Unit* piece = pieces[k];
    Unit& part = whole[row * width + col];
    const int64_t place = row * (at[k + 1] - at[k]) + col - at[k];
    if constexpr (kJoin) {
      part = piece ? piece[place] : Unit{};
    } else if (piece) {
      piece[place] = part;
    }
  }
};

/// The pieces of a sum of wholes, in packs of 16 bytes: as where the sum is made and rounded first (weighted_sum.h),
/// but it is neither written nor read.
template <typename T>
struct CutSum {
  static constexpr int kWidth = kPackWidth<T>;
  Divisor span;   ///< of the pieces, in packs
  int64_t width;  ///< of the whole
  int64_t at[kPieces + 1];
  T* pieces[kPieces];
  const T* wholes[kSumTerms];
  int count, terms;
  ROBUSTA_GPU void operator()(int64_t i) const {
    int64_t row = i;
    const int64_t col = at[0] + span.take_off(row);
    int k = 0;
    while (col >= at[k + 1]) ++k;
    if (!pieces[k]) return;
    Pack<float, kWidth> sum = {};
    for (int t = 0; t < kSumTerms; ++t) {  // a fixed number, which compilers unroll
      if (t >= terms) break;
      const Pack<float, kWidth> term = load_pack<kWidth>(wholes[t] + (row * width + col) * kWidth);
      for (int n = 0; n < kWidth; ++n) sum.at[n] += term.at[n];
    }
    store_pack(sum, pieces[k] + (row * (at[k + 1] - at[k]) + col - at[k]) * kWidth);
  }
};

}  // namespace detail

class GpuPieces {
 public:
  /// Chooses the layouts: all channels last where one of `given` (the bottoms) is, else plain. All are of `type`.
  /// REQUIRES: `whole` is one tensor; the extents of `pieces` along `axis` add up to its; the others are equal.
  GpuPieces(const std::vector<TensorDesc>& whole, const std::vector<TensorDesc>& pieces, int axis,
            const std::vector<TensorDesc>& given, DType type) {
    last_ = std::any_of(given.begin(), given.end(), [](const TensorDesc& d) { return is_channels_last(d.layout); });
    rows_ = stored_before(whole[0].shape, axis);
    at_.push_back(0);
    for (const TensorDesc& piece : pieces) {
      const auto bytes = static_cast<size_t>(piece.count()) * size_of(type);
      at_.push_back(at_.back() + (rows_ > 0 ? static_cast<int64_t>(bytes) / rows_ : 0));
    }
    assert(at_.back() * rows_ == whole[0].count() * static_cast<int64_t>(size_of(type)));
  }

  /// What a kernel books for the whole or for the pieces.
  std::vector<Layout> layouts_of(const std::vector<TensorDesc>& descs) const {
    std::vector<Layout> layouts;
    for (const TensorDesc& desc : descs) layouts.push_back(last_ ? channels_last(desc) : nullptr);
    return layouts;
  }

  /// Writes the pieces side by side into `whole`; a null piece counts as zeros. A single piece may share its memory.
  void join(Stream* stream, std::span<const Tensor> pieces, const Tensor& whole) const {
    copy<true>(stream, pieces, whole);
  }
  /// The reverse; null pieces are passed over.
  void cut(Stream* stream, const Tensor& whole, std::span<const Tensor> pieces) const {
    copy<false>(stream, pieces, whole);
  }

  /// So many wholes cut_sum() takes.
  int most_terms() const { return divides(sizeof(detail::Unit16)) ? detail::kSumTerms : 1; }
  /// The same as cut() of their sum, which is rounded as the pieces are stored.
  void cut_sum(Stream* stream, std::span<const Tensor> wholes, std::span<const Tensor> pieces) const {
    assert(static_cast<int>(wholes.size()) <= most_terms());
    if (wholes.size() == 1) return cut(stream, wholes[0], pieces);
    with_storage(wholes[0].desc.dtype, [&](auto t) { cut_terms<decltype(t)>(stream, wholes, pieces); });
  }

 private:
  bool divides(int64_t unit) const {
    return std::all_of(at_.begin(), at_.end(), [=](int64_t bytes) { return bytes % unit == 0; });
  }

  template <typename T>
  void cut_terms(Stream* stream, std::span<const Tensor> wholes, std::span<const Tensor> pieces) const {
    constexpr auto kUnit = static_cast<int64_t>(sizeof(detail::Unit16));
    for (size_t begin = 0; begin < pieces.size(); begin += detail::kPieces) {
      const size_t count = std::min<size_t>(pieces.size() - begin, detail::kPieces);
      const int64_t span = (at_[begin + count] - at_[begin]) / kUnit;
      if (span == 0) continue;
      detail::CutSum<T> each{
          Divisor(span), at_.back() / kUnit, {}, {}, {}, static_cast<int>(count), static_cast<int>(wholes.size())};
      for (size_t k = 0; k <= count; ++k) each.at[k] = at_[begin + k] / kUnit;
      for (size_t k = 0; k < count; ++k) each.pieces[k] = pieces[begin + k].template as<T>();
      for (size_t t = 0; t < wholes.size(); ++t) each.wholes[t] = wholes[t].template as<T>();
      for_each(stream, rows_ * span, each);
    }
  }

  /// Elements of the axes that are stored before `axis`.
  int64_t stored_before(const Shape& shape, int axis) const {
    if (!last_ || axis == 0) return shape.count(0, axis);
    if (axis == 1) return shape[0] * shape.count(2);
    return shape[0] * shape.count(2, axis);
  }

  template <bool kJoin>
  void copy(Stream* stream, std::span<const Tensor> pieces, const Tensor& whole) const {
    if (pieces.size() == 1 && pieces[0].data == whole.data) return;
    if (divides(sizeof(detail::Unit16))) {
      copy_units<detail::Unit16, kJoin>(stream, pieces, whole);
    } else if (divides(sizeof(uint32_t))) {
      copy_units<uint32_t, kJoin>(stream, pieces, whole);
    } else {
      copy_units<uint16_t, kJoin>(stream, pieces, whole);
    }
  }

  template <typename Unit, bool kJoin>
  void copy_units(Stream* stream, std::span<const Tensor> pieces, const Tensor& whole) const {
    constexpr auto kUnit = static_cast<int64_t>(sizeof(Unit));
    for (size_t begin = 0; begin < pieces.size(); begin += detail::kPieces) {
      const size_t count = std::min<size_t>(pieces.size() - begin, detail::kPieces);
      const int64_t span = (at_[begin + count] - at_[begin]) / kUnit;
      if (span == 0) continue;
      detail::CopyPieces<Unit, kJoin> each{Divisor(span),           at_.back() / kUnit, {}, {},
                                           static_cast<int>(count), whole.as<Unit>()};
      for (size_t k = 0; k <= count; ++k) each.at[k] = at_[begin + k] / kUnit;
      for (size_t k = 0; k < count; ++k) each.pieces[k] = pieces[begin + k].template as<Unit>();
      for_each(stream, rows_ * span, each);
    }
  }

  bool last_;
  int64_t rows_;
  std::vector<int64_t> at_;  // bytes of a row before each piece, and of the whole row
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
