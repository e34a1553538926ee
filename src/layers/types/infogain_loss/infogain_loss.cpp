// InfogainLoss: fields, shapes and the file of the matrix.

#include "layers/types/infogain_loss/infogain_loss.h"

#include <algorithm>
#include <cmath>

#include "base/str.h"
#include "schema/blob_proto.h"

namespace robusta {
namespace {

constexpr char kSource[] = "infogain_loss_param.source";

std::vector<float> read_matrix(const caffe::InfogainLossParameter& param) {
  if (!param.has_source()) {
    throw Error(ErrorKind::kConfig, "there is no infogain matrix", "give a third bottom, or a file in source")
        .in_field("infogain_loss_param");
  }
  try {
    std::vector<float> matrix = read_array_file(param.source(), "infogain matrix").data;
    const auto bad = std::find_if(matrix.begin(), matrix.end(), [](float h) { return !std::isfinite(h); });
    if (bad == matrix.end()) return matrix;
    throw Error(ErrorKind::kData, str("element ", bad - matrix.begin(), " of the infogain matrix is ", *bad))
        .at(param.source());
  } catch (Error& error) {
    throw error.in_field(kSource);
  }
}

}  // namespace

InfogainLossLayer::InfogainLossLayer(const caffe::LayerParameter& param)
    : SoftmaxLossLayer(param, param.infogain_loss_param().axis(), "infogain_loss_param.axis") {
  if (!param.loss_param().has_normalize()) return;
  throw Error(ErrorKind::kConfig, "InfogainLoss takes no normalize",
              "write normalization: VALID for normalize: true, normalization: BATCH_SIZE for normalize: false")
      .in_field("loss_param.normalize");
}

std::vector<Shape> InfogainLossLayer::infer_tops(const std::vector<Shape>& bottoms) {
  const std::vector<Shape> tops = SoftmaxLossLayer::infer_tops(bottoms);
  const bool of_file = bottoms.size() < 3;
  if (of_file && matrix_.empty()) matrix_ = read_matrix(param().infogain_loss_param());
  const int64_t count = of_file ? static_cast<int64_t>(matrix_.size()) : bottoms[2].count();
  const int64_t classes = view(bottoms[0]).classes;
  if (count == product_or_most(classes, classes)) return tops;
  throw Error(ErrorKind::kConfig, str("the infogain matrix has ", count, " elements, but for ", classes,
                                      " classes it must have ", classes, " rows and columns"))
      .in_field(of_file ? kSource : "bottom");
}

ROBUSTA_REGISTER_LAYER("InfogainLoss", InfogainLossLayer);

}  // namespace robusta
