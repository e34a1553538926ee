/// The layers that end a net for training or scoring, which models for other programs do without.
#pragma once

#include <optional>
#include <string>

namespace robusta {

/// A loss, a metric, or what writes results to a file. Its first bottoms are what the net has found out, the others
/// what is true.
struct Head {
  int scores = 1;                 ///< how many bottoms the net has found out
  const char* becomes = nullptr;  ///< the type of the layer that a loss has inside; null: none
};

/// None for a layer that is no head. `is_loss`: what the layer says of itself (Layer::is_loss).
std::optional<Head> head_of(const std::string& type, bool is_loss);

}  // namespace robusta
