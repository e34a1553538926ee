/// Which versions of parameters something was made of.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "layers/kit/param.h"

namespace robusta {

/// Whoever changes parameters increments their versions in the order of a stream; so is this to be asked.
class ParamVersions {
 public:
  /// Whether they are no longer those of the last call; at the first one they are not. REQUIRES: the same parameters.
  bool moved(std::span<Param* const> params) {
    bool moved = known_.size() != params.size();
    known_.resize(params.size());
    for (size_t i = 0; i < params.size(); ++i) {
      moved |= std::exchange(known_[i], params[i]->version) != params[i]->version;
    }
    return moved;
  }

 private:
  std::vector<uint64_t> known_;
};

}  // namespace robusta
