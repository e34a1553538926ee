/// The role of sources whose data may be absent where a net is only planned or timed: something stands for them then,
/// whose items look as was guessed (net/graph/guesses.h).
#pragma once

#include <string>

#include "layers/kit/source_layer.h"
#include "tensor/shape.h"

namespace robusta {

/// What stands for the items of a top.
struct AssumedItem {
  Shape shape;
  std::string reason;           ///< for the log
  bool channels_known = false;  ///< the prototxt says them
  bool size_known = false;      ///< and the other extents
};

class StandIn {
 public:
  virtual ~StandIn() = default;
  /// Whether something will stand for the data of a source that is opened with these options.
  virtual bool would_stand_in(const SourceOptions& options) const = 0;
  /// Before open(): what the items of a top look like should the data be absent, in place of what the source guesses.
  virtual void assume(int top, const AssumedItem& item) = 0;
  /// After open(): whether something does.
  virtual bool stands_in() const = 0;
  /// What stands for the items of a top. REQUIRES: stands_in().
  virtual AssumedItem assumed(int top) const = 0;
  /// "x does not exist, and synthetic input of 3x224x224 takes its place (the size of the crop)". REQUIRES:
  /// stands_in().
  virtual std::string account() const = 0;
};

}  // namespace robusta
