/// What the root of a group and the servers say to each other, over a communicator of their own: the root is its rank
/// 0, server k its rank 1 + k.
///
/// In a round the root sends each server its kind, the parts of the gradients that the server holds, bucket by bucket,
/// and the votes of the group. It gets back from server 0 the votes that its iteration ends with, and from each server
/// the weights of its part. A pause says that no more comes until all ranks have met (RankedUpdate::settle()). Messages
/// between two ranks keep their order, so none carries a name.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "comm/communicator.h"

namespace robusta {

/// What comes next.
enum class Push : int64_t { kGradients, kPause };

/// Communicators between the roots of groups and the servers. Collective over `world`, whose last `servers` ranks are
/// servers and whose others are `groups` equal groups. On a root: one, its own; on a server: that of each group, in
/// their order; elsewhere: none.
std::vector<std::unique_ptr<Communicator>> open_lines(Communicator& world, int groups, int servers);

}  // namespace robusta
