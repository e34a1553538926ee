/// The role of layers whose tops' shapes follow from the values of several bottoms (DetectionOutput). Layers of one
/// such bottom have Layer::sizing_bottom alone.
///
/// A layer of this role names the last of these bottoms as its sizing_bottom, and is told all their values in place of
/// Layer::size_by.
#pragma once

#include <span>
#include <vector>

#include "layers/kit/layer.h"

namespace robusta {

class SizedByBottoms {
 public:
  virtual ~SizedByBottoms() = default;
  /// The bottoms whose values decide.
  virtual std::vector<int> sizing_bottoms() const = 0;
  /// Their values, in plain order, before each forward pass: infer_tops gives other shapes from then on. Throws
  /// Error{kData} for values that cannot be.
  virtual void size_by_bottoms(std::span<const std::vector<float>> values) = 0;
};

/// Tells the layer the values of its sizing bottoms: `read(i)` gives those of bottom i, as floats.
/// REQUIRES: sizing_bottom() >= 0.
template <typename Read>
void tell_sizes(Layer& layer, const Read& read) {
  auto* several = dynamic_cast<SizedByBottoms*>(&layer);
  if (!several) return layer.size_by(read(layer.sizing_bottom()));
  std::vector<std::vector<float>> values;
  for (const int bottom : several->sizing_bottoms()) values.push_back(read(bottom));
  several->size_by_bottoms(values);
}

}  // namespace robusta
