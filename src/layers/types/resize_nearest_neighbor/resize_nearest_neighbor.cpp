// ResizeNearestNeighbor: images of another size, made of the pixels of the bottom (kit/resized_planes.h).

#include "layers/kit/resized_planes.h"

namespace robusta {
namespace {

class ResizeNearestNeighborLayer : public SamplingLayer {
 public:
  explicit ResizeNearestNeighborLayer(const caffe::LayerParameter& param)
      : SamplingLayer(param), planes_(this->param().resize_nearest_neighbor_param(), "resize_nearest_neighbor_param") {}

  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override {
    require_elements(bottoms);
    const Shape top = planes_.top(bottoms[0]);
    sampling_ = planes_.sampling(
        bottoms[0], top, [this](int64_t in, int64_t out) { return nearest_axis(planes_.sampled_by(), in, out); });
    return {top};
  }

 private:
  ResizedPlanes<caffe::ResizeNearestNeighborParameter> planes_;
};

}  // namespace

ROBUSTA_REGISTER_SAMPLING("ResizeNearestNeighbor", ResizeNearestNeighborLayer);

}  // namespace robusta
