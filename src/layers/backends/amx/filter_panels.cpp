// Filters of several taps are sorted by tap first, some terms at a time, since panels are packed from numbers that lie
// beside one another.

#include "layers/backends/amx/filter_panels.h"

#include "ops/amx/plain_factors.h"

namespace robusta::amx {
namespace {

/// to[tap, i] = from[i, tap], from the last tap to the first if `backward`.
void sort_by_tap(const float* from, int64_t count, int64_t taps, bool backward, int64_t next_tap, float* to) {
  for (int64_t tap = 0; tap < taps; ++tap) {
    const float* of_tap = from + (backward ? taps - 1 - tap : tap);
    for (int64_t i = 0; i < count; ++i) to[tap * next_tap + i] = of_tap[i * taps];
  }
}

}  // namespace

size_t FilterPanels::scratch_bytes() const {
  return taps == 1 ? 0 : static_cast<size_t>(taps * kPanelLines * kPlaces) * sizeof(float);
}

void FilterPanels::pack(const float* filters, int64_t panel, float* scratch, uint32_t* to) const {
  const Range lines = lines_of(columns(), panel);
  const auto at = [&](int64_t tap, int64_t term) {
    return to + (tap * steps_of(terms()) + term / kStepTerms) * kStepPairs;
  };
  in_pieces(terms(), kPlaces, [&](Range some) {
    constexpr int64_t kNextTap = kPanelLines * kPlaces;
    if (!backward) {
      const float* first = filters + (lines.begin * inputs + some.begin) * taps;
      if (taps == 1) return pack_lines(first, inputs, lines.size(), some.size(), Side::kColumns, at(0, some.begin));
      for (int64_t line = 0; line < lines.size(); ++line) {
        sort_by_tap(first + line * inputs * taps, some.size(), taps, backward, kNextTap, scratch + line * kPlaces);
      }
      for (int64_t tap = 0; tap < taps; ++tap) {
        pack_lines(scratch + tap * kNextTap, kPlaces, lines.size(), some.size(), Side::kColumns, at(tap, some.begin));
      }
      return;
    }
    const float* first = filters + (some.begin * inputs + lines.begin) * taps;
    if (taps == 1) {
      const RowPlaces<float> places(first, inputs, some.size());
      return pack_terms(places.data(), some.size(), lines.size(), Side::kColumns, at(0, some.begin));
    }
    for (int64_t term = 0; term < some.size(); ++term) {
      sort_by_tap(first + term * inputs * taps, lines.size(), taps, backward, kNextTap, scratch + term * kPanelLines);
    }
    for (int64_t tap = 0; tap < taps; ++tap) {
      const RowPlaces<float> places(scratch + tap * kNextTap, kPanelLines, some.size());
      pack_terms(places.data(), some.size(), lines.size(), Side::kColumns, at(tap, some.begin));
    }
  });
}

}  // namespace robusta::amx
