/// What the ranks have to agree on in every iteration.
///
/// Votes are numbers, so that they ride behind the gradients of the last bucket and are summed with them: no message of
/// their own is sent, and all ranks act on the same sums, hence in the same iteration.
#pragma once

#include "tensor/dtype.h"

namespace robusta {

/// What one rank has to say in an iteration; the sums over all ranks when they have agreed.
struct Votes {
  double loss = 0;                                 ///< 0 where it is not finite
  double ranks = 1;                                ///< that have a say
  double failed = 0;                               ///< 1: this rank's loss is not finite, or not there for an error
  double stop = 0, snapshot = 0, out_of_time = 0;  ///< 1: asked for
  double regroup = 0;                              ///< 1: somebody waits to come in (-elastic)
};

/// Of both.
Votes operator+(const Votes& a, const Votes& b);

/// Numbers of which votes are made: as many elements travel.
inline constexpr int kVotes = sizeof(Votes) / sizeof(double);

/// As elements of the type.
void write_votes(const Votes& votes, DType type, void* elements);
Votes read_votes(DType type, const void* elements);

}  // namespace robusta
