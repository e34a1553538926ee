/// Layers whose top is made of elements of bottom 0 by their coordinates alone (gather.h): Tile, Crop, Permute and
/// their like say which, and have all kernels.
///
///     ROBUSTA_REGISTER_GATHER("Tile", TileLayer);    the layer, the reference and the native kernel
///     ROBUSTA_REGISTER_GPU_GATHER(Tile);             in tile_gpu.cpp: backends/gpu/gather.h
///
/// Bottoms but the first give their shapes alone: they have no gradient.
#pragma once

#include <string>
#include <vector>

#include "layers/kit/gather.h"
#include "layers/kit/kernel.h"
#include "layers/kit/layer.h"

namespace robusta {

class GatherLayer : public Layer {
 public:
  using Layer::Layer;
  bool allows_gradient(int bottom) const override { return bottom == 0; }
  double forward_flops(const std::vector<Shape>&, const std::vector<Shape>&) const override { return 0; }

  /// How each axis of the top steps through bottom 0, whose own axes lie `strides` apart in its memory: one step, or
  /// several, the outermost first. After infer_tops.
  virtual std::vector<std::vector<GatherAxis>> steps(const std::vector<int64_t>& strides) const = 0;
  /// What stands where the top sees nothing of the bottom.
  virtual float fill() const { return 0; }
  /// True where steps are not along axes: both then have to be plain.
  virtual bool plain_alone() const { return false; }
};

/// From a plain bottom 0 to a plain top.
Gather plain_gather(const GatherLayer& layer, const Shape& bottom);

/// How bottom 0 and the top are stored; null: plain.
struct GatherLayouts {
  Layout bottom, top;
};

/// What all their kernels book. `identity`: both are the same bytes.
void book_gather(const KernelRequest& request, bool identity, const GatherLayouts& layouts, Booking& booking);

/// Registers the reference kernel, and the one that is fast on the host.
bool register_gather_kernels(const std::string& type);

#define ROBUSTA_REGISTER_GATHER(type, Class) \
  ROBUSTA_REGISTER_LAYER(type, Class);       \
  static const bool registered_gather_##Class = ::robusta::register_gather_kernels(type)

}  // namespace robusta
