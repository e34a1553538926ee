/// Which layers in a row a kernel takes: a row of predicates, without the types behind them (kit/chain.h has those).
///
/// In a chain, top 0 of each layer is a bottom of the next and is seen by nobody else. Links are tried from left to
/// right, and an optional one takes its layer whenever it can.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "layers/kit/layer.h"

namespace robusta {

using LayerChain = std::span<const Layer* const>;

/// One place of a pattern.
struct PatternLink {
  std::string type = {};               ///< the layer's type, as in prototxt; empty: any that `is`
  bool (*is)(const Layer&) = nullptr;  ///< null: any of `type`
  bool optional = false;
  bool needs_previous = false;  ///< optional, and only where the link before it has a layer
  bool joins = false;           ///< the layer may have bottoms that do not come from the chain
};

class ChainPattern {
 public:
  /// A single layer of this type.
  ChainPattern(const char* type) : ChainPattern(std::string(type)) {}  // NOLINT: reads as a name in registrations
  ChainPattern(std::string type) : links_{{.type = std::move(type)}} {}
  explicit ChainPattern(std::vector<PatternLink> links) : links_(std::move(links)) {}

  /// Per link the index of its layer, -1: absent. Empty when the layers do not match as a whole.
  std::vector<int> match(LayerChain layers) const;
  /// True when the layers match, or could be the beginning of a match.
  bool begins_with(LayerChain layers) const;
  /// True when a single layer of this type matches, whatever else it is.
  bool takes(const std::string& type) const;

 private:
  /// The links after the last that took a layer begin at `next`; false when a layer fits nowhere.
  bool walk(LayerChain layers, std::vector<int>& places, size_t& next) const;
  bool rest_is_optional(size_t next) const;

  std::vector<PatternLink> links_;
};

}  // namespace robusta
