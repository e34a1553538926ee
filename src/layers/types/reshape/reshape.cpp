// Reshape: the same elements in another shape.
//
// The dims given replace `num_axes` axes from `axis` on: 0 copies the bottom's extent, -1 is inferred from what is
// left. Plain tensors keep their order of elements, so that top and bottom share their memory wherever lifetimes allow
// it.

#include "base/str.h"
#include "layers/kit/alias_kernel.h"
#include "layers/kit/tells_shapes.h"
#include "tensor/shape.h"

namespace robusta {
namespace {

class ReshapeLayer : public Layer, public TellsShapes {
 public:
  explicit ReshapeLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  std::optional<Shape> wanted_bottom(size_t bottom, const std::vector<Shape>& bottoms) const override;
  std::optional<Shape> bottom_for(size_t top, const Shape& wanted, const std::vector<Shape>& bottoms) const override;
  double forward_flops(const std::vector<Shape>&, const std::vector<Shape>&) const override { return 0; }

 private:
  /// The range of bottom axes that the given dims replace.
  std::pair<int, int> replaced_axes(const Shape& bottom) const;
};

ReshapeLayer::ReshapeLayer(const caffe::LayerParameter& param) : Layer(param) {
  int inferred = 0;
  for (int64_t dim : param.reshape_param().shape().dim()) {
    if (dim < -1) {
      throw Error(ErrorKind::kConfig, str("dim ", dim, " has no meaning"),
                  "give an extent, 0 to copy the bottom's, or -1 to infer it")
          .in_field("reshape_param.shape");
    }
    inferred += dim == -1;
  }
  if (inferred > 1) {
    throw Error(ErrorKind::kConfig, str("only one dim can be inferred, but ", inferred, " are -1"))
        .in_field("reshape_param.shape");
  }
}

std::pair<int, int> ReshapeLayer::replaced_axes(const Shape& bottom) const {
  const auto& given = param().reshape_param();
  const int axes = bottom.axes();
  // Negative positions count from behind the last axis: -1 appends.
  const int begin = given.axis() >= 0 ? given.axis() : axes + given.axis() + 1;
  if (begin < 0 || begin > axes) {
    throw Error(ErrorKind::kConfig, str("axis ", given.axis(), " lies outside the bottom's ", axes, " axes"))
        .in_field("reshape_param.axis");
  }
  if (given.num_axes() < -1 || given.num_axes() > axes - begin) {
    throw Error(ErrorKind::kConfig, str("num_axes ", given.num_axes(), " from axis ", begin,
                                        " on reaches beyond the bottom's ", axes, " axes"))
        .in_field("reshape_param.num_axes");
  }
  return {begin, given.num_axes() == -1 ? axes : begin + given.num_axes()};
}

/// Samples of as many numbers as the dims make, where these are for the whole shape.
std::optional<Shape> ReshapeLayer::wanted_bottom(size_t, const std::vector<Shape>& bottoms) const {
  const Shape& bottom = bottoms[0];
  const auto& given = param().reshape_param();
  const auto& dims = given.shape().dim();
  if (given.axis() != 0 || given.num_axes() != -1 || dims.empty() || bottom.axes() == 0) return std::nullopt;
  int64_t numbers = 1;
  bool inferred = false;
  for (int i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && i > 0) return std::nullopt;  // it copies what it finds
    if (dims[i] > 0) numbers = product_or_most(numbers, dims[i]);
    inferred = inferred || dims[i] == -1;
  }
  const int64_t samples = bottom[0], found = dims[0] == 0 ? bottom.count(1) : bottom.count();
  if (numbers == 0 || (inferred ? found % numbers == 0 : found == numbers)) return std::nullopt;
  if (dims[0] <= 0) return Shape{samples, numbers};
  if (samples == 0 || numbers % samples != 0) return std::nullopt;
  return Shape{samples, numbers / samples};
}

/// As many numbers for each sample.
std::optional<Shape> ReshapeLayer::bottom_for(size_t, const Shape& wanted, const std::vector<Shape>& bottoms) const {
  const Shape& bottom = bottoms[0];
  if (bottom.axes() == 0 || bottom[0] == 0 || wanted.count() % bottom[0] != 0) return std::nullopt;
  return Shape{bottom[0], wanted.count() / bottom[0]};
}

std::vector<Shape> ReshapeLayer::infer_tops(const std::vector<Shape>& bottoms) {
  const Shape& bottom = bottoms[0];
  const auto [begin, end] = replaced_axes(bottom);
  std::vector<int64_t> dims = bottom.slice(0, begin).dims();
  int inferred = -1;
  int64_t known = 1;
  const auto& given = param().reshape_param().shape().dim();
  for (int i = 0; i < given.size(); ++i) {
    int64_t dim = given[i];
    if (dim == 0 && begin + i >= bottom.axes()) {
      throw Error(ErrorKind::kConfig, str("dim ", i, " is 0 (copy), but the bottom has no axis ", begin + i))
          .in_field("reshape_param.shape");
    }
    if (dim == 0) dim = bottom[begin + i];
    if (dim == -1) inferred = static_cast<int>(dims.size());
    if (dim != -1) known = product_or_most(known, dim);
    dims.push_back(dim);
  }
  const int64_t wanted = bottom.count(begin, end);
  if (inferred >= 0 && known > 0) dims[inferred] = wanted / known;
  const bool fits = inferred >= 0 ? known > 0 && wanted % known == 0 : known == wanted;
  if (!fits) {
    throw Error(ErrorKind::kConfig,
                str("the ", wanted, " elements of axes ", begin, "..", end, " of the bottom (", bottom.str(),
                    ") cannot be laid out as ", param().reshape_param().shape().ShortDebugString()))
        .in_field("reshape_param.shape");
  }
  for (int axis = end; axis < bottom.axes(); ++axis) dims.push_back(bottom[axis]);
  return {Shape(std::move(dims))};
}

}  // namespace

ROBUSTA_REGISTER_LAYER("Reshape", ReshapeLayer);
static const bool reshape_reference = register_kernel({"Reshape", "reference", "cpu", 0, make_plain_alias});

}  // namespace robusta
