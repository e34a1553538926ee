// Tile: repeats the bottom `tiles` times along one axis, all that lies within a step of it at once.
//
// The gradient of an element is the sum of those of its copies.

#include "layers/kit/axis.h"
#include "layers/kit/bottom_checks.h"
#include "layers/kit/gather_layer.h"

namespace robusta {
namespace {

class TileLayer : public GatherLayer {
 public:
  explicit TileLayer(const caffe::LayerParameter& param) : GatherLayer(param) {
    if (tiles() >= 1) return;
    throw Error(ErrorKind::kConfig, param.tile_param().has_tiles() ? str("tiles is ", tiles()) : "no tiles are given",
                "give how often the bottom is repeated, at least once")
        .in_field("tile_param.tiles");
  }
  Arity arity() const override { return {}; }

  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override {
    require_elements(bottoms);
    axis_ = canonical_axis(bottoms[0], param().tile_param().axis(), "tile_param.axis");
    bottom_ = bottoms[0];
    Shape top = bottom_;
    top[axis_] = product_or_most(top[axis_], tiles());
    check_extents(top);
    return {top};
  }

  std::vector<std::vector<GatherAxis>> steps(const std::vector<int64_t>& strides) const override {
    std::vector<std::vector<GatherAxis>> steps;
    for (int axis = 0; axis < bottom_.axes(); ++axis) {
      steps.emplace_back();
      if (axis == axis_) steps.back().push_back({.extent = tiles(), .stride = 0});
      steps.back().push_back({.extent = bottom_[axis], .stride = strides[static_cast<size_t>(axis)]});
    }
    return steps;
  }

 private:
  int64_t tiles() const { return param().tile_param().tiles(); }

  int axis_ = 1;
  Shape bottom_;
};

}  // namespace

ROBUSTA_REGISTER_GATHER("Tile", TileLayer);

}  // namespace robusta
