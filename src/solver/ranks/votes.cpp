// Votes have the type of the gradients behind which they ride.
#include "solver/ranks/votes.h"

#include <algorithm>

namespace robusta {

Votes operator+(const Votes& a, const Votes& b) {
  return {.loss = a.loss + b.loss,
          .ranks = a.ranks + b.ranks,
          .failed = a.failed + b.failed,
          .stop = a.stop + b.stop,
          .snapshot = a.snapshot + b.snapshot,
          .out_of_time = a.out_of_time + b.out_of_time,
          .regroup = a.regroup + b.regroup};
}

void write_votes(const Votes& votes, DType type, void* elements) {
  const double values[kVotes] = {votes.loss,     votes.ranks,       votes.failed, votes.stop,
                                 votes.snapshot, votes.out_of_time, votes.regroup};
  dispatch(type, [&](auto element) { std::copy_n(values, kVotes, static_cast<decltype(element)*>(elements)); });
}

Votes read_votes(DType type, const void* elements) {
  double values[kVotes];
  dispatch(type, [&](auto element) { std::copy_n(static_cast<const decltype(element)*>(elements), kVotes, values); });
  return {.loss = values[0],
          .ranks = values[1],
          .failed = values[2],
          .stop = values[3],
          .snapshot = values[4],
          .out_of_time = values[5],
          .regroup = values[6]};
}

}  // namespace robusta
