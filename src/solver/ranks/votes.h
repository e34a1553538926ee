/// What the ranks have to agree on in every iteration.
///
/// Votes are numbers, so that they ride behind the gradients of the last bucket and are summed with them: no message of
/// their own is sent, and all ranks act on the same sums, hence in the same iteration.
#pragma once

namespace robusta {

/// What one rank has to say in an iteration; the sums over all ranks when they have agreed.
struct Votes {
  double loss = 0;                                 ///< 0 where it is not finite
  double ranks = 1;                                ///< that have a say
  double not_finite = 0;                           ///< 1: this rank's loss is
  double stop = 0, snapshot = 0, out_of_time = 0;  ///< 1: asked for
  double regroup = 0;                              ///< 1: somebody waits to come in (-elastic)
};

}  // namespace robusta
