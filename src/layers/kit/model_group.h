/// Ranks that share out the outputs of a layer among them: model parallelism (Krizhevsky 2014, "One weird trick for
/// parallelizing convolutional neural networks", section 4).
///
/// Each rank of the group has a batch of its own and computes one part of the outputs for the batches of all: inputs
/// are gathered, outputs go back to those whose samples they are of. Batches are of one size.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/element_range.h"

namespace robusta {

/// All ranks of a group call the same members in the same order; calls block.
class ModelGroup {
 public:
  virtual ~ModelGroup() = default;
  virtual int parts() const = 0;
  /// This rank's among them.
  virtual int part() const = 0;
  /// `all` receives parts() times `bytes`, in the order of the parts.
  virtual void all_gather(const void* mine, size_t bytes, void* all) = 0;
  /// The piece of `bytes` at place p of `out` goes to part p, and its piece for this rank comes to place p of `in`.
  virtual void all_to_all(const void* out, size_t bytes, void* in) = 0;

  /// Of so many outputs this rank's. REQUIRES: parts() divides them.
  ElementRange own(int64_t outputs) const {
    const int64_t each = outputs / parts();
    return {part() * each, (part() + 1) * each};
  }
};

/// The role of layers whose outputs can be shared out. Axis 0 of each parameter counts outputs: a rank computes and
/// learns its own rows, and those of the others are not looked at.
class CutByOutputs {
 public:
  virtual ~CutByOutputs() = default;
  /// Before the layer is asked for kernels; the group outlives the layer. Throws Error{kConfig|kUnsupported} where the
  /// layer's fields forbid it.
  virtual void cut(ModelGroup& group) = 0;
  /// False: a part reads a slice of its own of the bottom, an equal part of the channels, and the others nothing of it.
  virtual bool parts_read_whole_bottom() const { return true; }
};

}  // namespace robusta
