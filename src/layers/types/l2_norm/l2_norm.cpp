// L2Norm: each sample divided by its Euclidean length (as in MSRCCS/Caffe and other forks; without fields). A sample of
// zeros stays zero and has no gradient.

#include "layers/kit/bottom_checks.h"
#include "layers/kit/row_norm.h"

namespace robusta {
namespace {

class L2NormLayer : public RowNormLayer {
 public:
  explicit L2NormLayer(const caffe::LayerParameter& param) : RowNormLayer(param) { norm_.size = RowSize::kLength; }

  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override {
    require_elements(bottoms);
    const Shape& bottom = bottoms[0];
    if (bottom.axes() < 1) throw Error(ErrorKind::kConfig, "L2Norm takes no scalar");
    norm_.view = AxisView(Shape{bottom[0], bottom.count(1)}, 1);
    return bottoms;
  }
};

}  // namespace

ROBUSTA_REGISTER_ROW_NORM("L2Norm", L2NormLayer);

}  // namespace robusta
