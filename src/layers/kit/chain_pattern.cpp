// Matching of chains: one walk over links and layers, without going back.

#include "layers/kit/chain_pattern.h"

#include <algorithm>

namespace robusta {
namespace {

bool fits(const PatternLink& link, const Layer& layer, bool first) {
  if (!link.type.empty() && link.type != layer.type()) return false;
  if (link.is && !link.is(layer)) return false;
  return first || link.joins || layer.param().bottom_size() <= 1;
}

}  // namespace

bool ChainPattern::walk(LayerChain layers, std::vector<int>& places, size_t& next) const {
  places.assign(links_.size(), -1);
  next = 0;
  for (size_t l = 0; l < layers.size(); ++next) {
    if (next == links_.size()) return false;
    const PatternLink& link = links_[next];
    const bool allowed = !link.needs_previous || (next > 0 && places[next - 1] >= 0);
    if (allowed && fits(link, *layers[l], l == 0)) {
      places[next] = static_cast<int>(l++);
    } else if (!link.optional) {
      return false;
    }
  }
  return true;
}

bool ChainPattern::rest_is_optional(size_t next) const {
  return std::all_of(links_.begin() + static_cast<std::ptrdiff_t>(next), links_.end(),
                     [](const PatternLink& link) { return link.optional; });
}

std::vector<int> ChainPattern::match(LayerChain layers) const {
  std::vector<int> places;
  size_t next = 0;
  if (!walk(layers, places, next) || !rest_is_optional(next)) return {};
  return places;
}

bool ChainPattern::begins_with(LayerChain layers) const {
  std::vector<int> places;
  size_t next = 0;
  return walk(layers, places, next);
}

bool ChainPattern::takes(const std::string& type) const { return links_[0].type == type && rest_is_optional(1); }

}  // namespace robusta
