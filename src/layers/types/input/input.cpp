// Input: blobs that the caller of the net writes.

#include <cstring>

#include "base/str.h"
#include "layers/kit/source_layer.h"

namespace robusta {
namespace {

class InputLayer : public SourceLayer {
 public:
  explicit InputLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {0, 0, 1, -1}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>&) override;
  double forward_flops(const std::vector<Shape>&, const std::vector<Shape>&) const override { return 0; }
  void fill(std::span<const Tensor> tops, const Pass&) override {
    for (const Tensor& top : tops) std::memset(top.data, 0, top.desc.bytes());
  }
  bool constant() const override { return true; }
  bool is_input() const override { return true; }
  void set_batch(int64_t batch) override {
    for (Shape& shape : shapes_) {
      if (shape.axes() > 0) shape[0] = batch;
    }
  }
  bool reshape_top(int top, const Shape& shape) override {
    shapes_[static_cast<size_t>(top)] = shape;
    return true;
  }

 private:
  std::vector<Shape> shapes_;
};

InputLayer::InputLayer(const caffe::LayerParameter& param) : SourceLayer(param) {
  const auto& given = param.input_param().shape();
  if (given.size() != 1 && given.size() != param.top_size()) {
    throw Error(ErrorKind::kConfig, str(param.top_size(), " tops need one shape, or one each, not ", given.size()),
                "write input_param { shape { dim: ... } }")
        .in_field("input_param.shape");
  }
  for (int top = 0; top < param.top_size(); ++top) {
    const auto& dims = given[given.size() == 1 ? 0 : top].dim();
    shapes_.emplace_back(std::vector<int64_t>(dims.begin(), dims.end()));
  }
}

std::vector<Shape> InputLayer::infer_tops(const std::vector<Shape>&) {
  for (const Shape& shape : shapes_) {
    check_extents(shape);
    if (shape.count() == 0) {
      throw Error(ErrorKind::kConfig, "shape " + shape.str() + " holds nothing", "every dim must be at least 1")
          .in_field("input_param.shape");
    }
  }
  return shapes_;
}

}  // namespace

ROBUSTA_REGISTER_LAYER("Input", InputLayer);

}  // namespace robusta
