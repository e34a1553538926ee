/// Filters as the columns of matrix products (ops/amx/panels.h), rounded to bf16.
///
/// Forward, a column is a filter, whose terms are its inputs; for the gradient of the images it is an input, whose
/// terms are the outputs, and taps come in the opposite order, since a window that slides over images is seen by a
/// pixel from its end.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/amx/panels.h"

namespace robusta::amx {

struct FilterPanels {
  int64_t outputs, inputs, taps;
  bool backward;

  int64_t columns() const { return backward ? inputs : outputs; }
  int64_t terms() const { return backward ? outputs : inputs; }
  int64_t panels() const { return panels_of(columns()); }
  int64_t pairs_of_panel() const { return taps * steps_of(terms()) * kStepPairs; }
  size_t bytes() const { return static_cast<size_t>(panels() * pairs_of_panel()) * sizeof(uint32_t); }
  /// What a thread needs while it packs.
  size_t scratch_bytes() const;

  /// Panel `panel`, [tap][step][tile], of filters [output][input][tap].
  void pack(const float* filters, int64_t panel, float* scratch, uint32_t* to) const;
};

}  // namespace robusta::amx
