/// What many kernels book alike (Booking, kernel.h). Helpers set what they speak of and leave the rest.
#pragma once

#include <algorithm>

#include "layers/kit/kernel.h"

namespace robusta {

/// Which values backward reads, of kernels with one bottom.
inline void book_reads(bool bottom, bool top, Booking& booking) {
  booking.reads_bottoms = {bottom};
  booking.reads_tops = {top};
}

/// Backward reads none of `bottoms` values, and no result.
inline void book_reads_nothing(size_t bottoms, Booking& booking) { booking.reads_bottoms.assign(bottoms, false); }

/// Element by element: forward is cheap, and each result may overwrite its argument, top 0 bottom 0 and the gradient of
/// bottom 0 that of top 0.
inline void book_in_place(Booking& booking) {
  booking.repeatable = true;
  booking.forward_aliases = {{0, 0, false}};
  booking.backward_aliases = {{0, 0, false}};
}

/// Top 0 is bottom 0 under another name or shape, and so are their gradients: nothing to do where the planner gives
/// both the same memory.
inline void book_same_content(Booking& booking) {
  booking.forward_aliases = {{0, 0, true}};
  booking.backward_aliases = {{0, 0, true}};
}

/// Bottoms side by side in one top: Concat.
inline void book_join(size_t bottoms, Booking& booking) {
  booking.repeatable = true;
  book_reads_nothing(bottoms, booking);
  if (bottoms == 1) book_same_content(booking);
}

/// One bottom cut into tops: Slice. Nobody need use each top.
inline void book_cut(size_t tops, Booking& booking) {
  book_reads_nothing(1, booking);
  booking.takes_missing_top_diffs = true;
  if (tops == 1) book_same_content(booking);
}

/// Every top is the bottom, whose gradient is the sum of theirs. The sum may be written over its first `terms` terms.
inline void book_branches(size_t tops, size_t terms, Booking& booking) {
  book_reads_nothing(1, booking);
  booking.takes_missing_top_diffs = true;
  for (int top = 0; top < static_cast<int>(tops); ++top) booking.forward_aliases.push_back({0, top, true});
  for (int top = 0; top < static_cast<int>(std::min(tops, terms)); ++top) {
    booking.backward_aliases.push_back({top, 0, false});
  }
}

}  // namespace robusta
