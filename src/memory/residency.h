/// What may be away from a device's memory during a pass, and what is: the question that plan_residency answers.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include "memory/ids.h"

namespace robusta {

struct BlockUse {
  StepId step;
  bool writes = false;  ///< the content changes: what the host has of it is stale
};

/// A piece of memory with one content after the other, from its first use to its last.
struct MemoryBlock {
  struct Need {
    BlockId block;
    StepId step;  ///< at which it is read
  };
  /// What making the content again takes: running all steps once more that wrote it, up to `made`.
  struct Repeat {
    StepId made;
    double seconds = 0;            ///< of computing
    size_t scratch = 0;            ///< bytes
    std::vector<Need> needs = {};  ///< what these steps read besides
  };

  size_t bytes = 0;
  std::vector<BlockUse> uses = {};    ///< ascending, one per step, at least one
  bool movable = true;                ///< may be away between two uses
  std::optional<Repeat> repeat = {};  ///< none: its content can only be copied
};

struct ResidencyProblem {
  static constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();

  IdVector<StepId, double> step_seconds;  ///< of each step alone, predicted
  IdVector<BlockId, MemoryBlock> blocks;
  double out_rate = 1, in_rate = 1;  ///< bytes per second to the host, and from it
  size_t budget = kNoLimit;          ///< bytes that the arena may have
  size_t goal = kNoLimit;            ///< bytes to come down to if the choice below allows it; at most the budget
  size_t min_bytes = 0;              ///< smaller blocks stay
  StepId across;                     ///< if any: only from a use before this step to one at or after it
};

/// The time between two uses of a block during which its content is not in the device's memory. `before` may lie behind
/// its last use: a repeated step of another block then wants it once more.
struct Absence {
  BlockId block;
  StepId after, before;       ///< of the two uses
  bool repeated = false;      ///< comes back by running its steps again, right before `before`
  bool copied_out = false;    ///< false: repeated, or the host still has this content
  StepId released;            ///< last step at which the copy out still holds the memory, >= after
  StepId fetched;             ///< the copy in is issued before this step, which is > released and <= before
  size_t scratch_offset = 0;  ///< of a repeated step
};

/// A block in one place, from step `first` to step `last`.
struct Stay {
  BlockId block;
  StepId first, last;
  size_t offset = 0;  ///< bytes from the beginning of the arena
};

struct Residency {
  std::vector<Stay> stays;             ///< by block, then by time
  std::vector<Absence> absences;       ///< the same order; absence i of a block lies between its stays i and i + 1
  size_t arena_bytes = 0;              ///< that the stays take together
  size_t bytes_out = 0, bytes_in = 0;  ///< copied per pass
  double exposed_seconds = 0;          ///< predicted: for how long steps wait for copies
  double repeat_seconds = 0;           ///< predicted: for how long steps run again
  double cost() const { return exposed_seconds + repeat_seconds; }
};

}  // namespace robusta
