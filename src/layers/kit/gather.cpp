// The algebra of strided copies, and the plain loop over one.
//
// A coordinate of the destination is a mixed-radix number; the transpose reads the digits of the source instead, whose
// radices are the strides.

#include "layers/kit/gather.h"

#include <algorithm>
#include <cassert>

#include "base/parallel.h"

namespace robusta {
namespace {

/// Whether `inner`, right behind `outer`, is all that one step of `outer` passes.
bool continues(const GatherAxis& outer, const GatherAxis& inner) {
  return inner.before == 0 && inner.after == 0 && outer.stride == inner.stride * inner.extent;
}

GatherAxis joined(const GatherAxis& outer, const GatherAxis& inner) {
  return {.extent = outer.extent * inner.extent,
          .stride = inner.stride,
          .before = outer.before * inner.extent,
          .after = outer.after * inner.extent};
}

}  // namespace

int64_t Gather::count() const {
  int64_t product = 1;
  for (const GatherAxis& axis : axes) product *= axis.extent;
  return product;
}

bool Gather::is_identity(int64_t source_count) const {
  return axes.size() == 1 && base == 0 && terms == 1 && axes[0] == GatherAxis{.extent = source_count, .stride = 1};
}

int64_t place_of(const Gather& gather, int64_t i) {
  int64_t place = gather.base;
  for (size_t a = gather.axes.size(); a-- > 0;) {
    const GatherAxis& axis = gather.axes[a];
    const int64_t c = i % axis.extent - axis.before;
    i /= axis.extent;
    if (c < 0 || c >= axis.seen()) return -1;
    place += c * axis.stride;
  }
  return place;
}

Gather coalesced(const std::vector<GatherAxis>& axes) {
  Gather gather;
  for (GatherAxis axis : axes) {
    gather.base += axis.skip * axis.stride;
    axis.skip = 0;
    if (axis.extent == 1) continue;
    std::vector<GatherAxis>& kept = gather.axes;
    if (!kept.empty() && continues(kept.back(), axis)) {
      kept.back() = joined(kept.back(), axis);
    } else {
      kept.push_back(axis);
    }
  }
  if (gather.axes.empty()) gather.axes.push_back({.extent = 1, .stride = 1});
  return gather;
}

Gather transposed(const Gather& gather, int64_t source_count) {
  struct Digit {
    GatherAxis axis;
    int64_t step;  ///< in the destination
  };
  std::vector<int64_t> extents;
  for (const GatherAxis& axis : gather.axes) extents.push_back(axis.extent);
  const std::vector<int64_t> steps = plain_strides(extents);
  std::vector<Digit> digits;
  int64_t terms = 1, term_stride = 0;
  for (size_t a = 0; a < gather.axes.size(); ++a) {
    const GatherAxis& axis = gather.axes[a];
    if (axis.stride > 0) {
      digits.push_back({axis, steps[a]});
    } else {
      assert(terms == 1 && gather.terms == 1);
      terms = axis.extent;
      term_stride = steps[a];
    }
  }
  std::stable_sort(digits.begin(), digits.end(),
                   [](const Digit& a, const Digit& b) { return a.axis.stride > b.axis.stride; });

  std::vector<GatherAxis> axes;
  int64_t radix = source_count, place = gather.base;
  for (const Digit& digit : digits) {
    assert(radix % digit.axis.stride == 0);
    const int64_t extent = radix / digit.axis.stride, first = place / digit.axis.stride;
    const int64_t rest = extent - first - digit.axis.seen();
    assert(rest >= 0);
    axes.push_back({.extent = extent, .stride = digit.step, .skip = digit.axis.before, .before = first, .after = rest});
    radix = digit.axis.stride;
    place %= radix;
  }
  // Of each step of the smallest stride one element was seen.
  if (radix > 1) axes.push_back({.extent = radix, .stride = 0, .before = place, .after = radix - place - 1});
  Gather back = coalesced(axes);
  back.terms = terms;
  back.term_stride = term_stride;
  return back;
}

template <typename T>
void run_gather(const Gather& gather, const T* from, T* to) {
  parallel_for(gather.count(), 1 + (1 << 12) / gather.terms, [&](int64_t i) {
    const int64_t place = place_of(gather, i);
    double sum = place < 0 ? gather.fill : 0;
    for (int64_t k = 0; place >= 0 && k < gather.terms; ++k) sum += from[place + k * gather.term_stride];
    to[i] = static_cast<T>(sum);
  });
}

template void run_gather(const Gather&, const float*, float*);
template void run_gather(const Gather&, const double*, double*);

std::vector<int64_t> plain_strides(const std::vector<int64_t>& extents) {
  std::vector<int64_t> strides(extents.size(), 1);
  for (size_t a = extents.size(); a-- > 1;) strides[a - 1] = strides[a] * extents[a];
  return strides;
}

}  // namespace robusta
