// Eltwise: meaning.

#include "layers/types/eltwise/eltwise.h"

#include <algorithm>

#include "base/str.h"

namespace robusta {

EltwiseLayer::EltwiseLayer(const caffe::LayerParameter& param) : Layer(param) {
  const auto& given = param.eltwise_param();
  if (given.coeff_size() == 0) return;
  if (given.operation() != caffe::EltwiseParameter::SUM) {
    throw Error(ErrorKind::kConfig, "coeff has a meaning in sums only", "remove coeff or use operation: SUM")
        .in_field("eltwise_param.coeff");
  }
  if (given.coeff_size() != param.bottom_size()) {
    throw Error(ErrorKind::kConfig,
                str(param.bottom_size(), " bottoms need as many coeff entries, not ", given.coeff_size()))
        .in_field("eltwise_param.coeff");
  }
}

std::vector<Shape> EltwiseLayer::infer_tops(const std::vector<Shape>& bottoms) {
  for (size_t i = 1; i < bottoms.size(); ++i) {
    if (bottoms[i] == bottoms[0]) continue;
    throw Error(ErrorKind::kConfig, str("bottom ", i, " has shape ", bottoms[i].str(), ", bottom 0 has ",
                                        bottoms[0].str(), "; they must be equal"))
        .in_field("bottom");
  }
  return {bottoms[0]};
}

double EltwiseLayer::forward_flops(const std::vector<Shape>& bottoms, const std::vector<Shape>& tops) const {
  return static_cast<double>(bottoms.size() - 1) * static_cast<double>(tops[0].count());
}

float EltwiseLayer::coeff(int bottom) const {
  const auto& given = param().eltwise_param().coeff();
  return given.empty() ? 1.0f : given[bottom];
}

bool EltwiseLayer::plain_sum() const {
  const auto& given = param().eltwise_param().coeff();
  return operation() == caffe::EltwiseParameter::SUM &&
         std::all_of(given.begin(), given.end(), [](float coeff) { return coeff == 1; });
}

ROBUSTA_REGISTER_LAYER("Eltwise", EltwiseLayer);

}  // namespace robusta
