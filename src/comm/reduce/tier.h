/// A dimension of the topology with what may sum over it: what the builder makes and exploring chooses from.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/reduce/stage.h"

namespace robusta {

/// A dimension and the algorithms that its group could use. The same dimensions, in the same order, on all ranks.
struct Tier {
  /// The algorithms' places among the stages: the same on all ranks. Others follow.
  enum : size_t { kShared, kDirect, kRing };

  std::string name;        ///< "X (4 ranks, within a host)"
  bool innermost = false;  ///< it is X
  Group group;
  std::vector<std::shared_ptr<Stage>> stages;  ///< null: not for this group
};

}  // namespace robusta
