/// The role of layers whose training pass changes a parameter that learns (rows of weights that are scaled to length
/// 1). Whoever shares the parameter has to expect it: a layer that does not would compute with other weights, as it
/// runs before that layer or behind it.
#pragma once

namespace robusta {

class RewritesParams {
 public:
  virtual ~RewritesParams() = default;
  /// Whether the forward pass of training writes parameter i.
  virtual bool rewrites(int i) const = 0;
};

}  // namespace robusta
