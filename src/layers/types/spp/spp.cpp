// SPP: fields, the windows of each level, and shapes.
//
// A level of n bins has windows of ceil(in / n) pixels side by side, and what they exceed the image by is shared
// between its two ends, the larger half first: as in Caffe.

#include "layers/types/spp/spp.h"

#include "base/str.h"
#include "layers/kit/bottom_checks.h"

namespace robusta {
namespace {

constexpr uint32_t kMostLevels = 20;  // the last has 2^19 bins along each axis

struct BinAxis {
  uint32_t window, pad;
};

BinAxis bins_of(int level, int64_t in, const char* axis) {
  const int64_t bins = int64_t{1} << level, window = (in + bins - 1) / bins, pad = (window * bins - in + 1) / 2;
  if (pad < window && window <= UINT32_MAX) return {static_cast<uint32_t>(window), static_cast<uint32_t>(pad)};
  throw Error(ErrorKind::kConfig,
              str("level ", level, " of the pyramid has ", bins, " bins, which a ", axis, " of ", in,
                  " cannot be divided into"),
              "use fewer levels or a larger input")
      .in_field("spp_param.pyramid_height");
}

}  // namespace

SppLayer::SppLayer(const caffe::LayerParameter& param) : Layer(param) {
  const auto& p = param.spp_param();
  if (p.pyramid_height() >= 1 && p.pyramid_height() <= kMostLevels) return;
  throw Error(ErrorKind::kConfig,
              p.has_pyramid_height() ? str("pyramid_height is ", p.pyramid_height()) : "no pyramid_height is given",
              str("give 1 to ", kMostLevels, " levels"))
      .in_field("spp_param.pyramid_height");
}

caffe::LayerParameter SppLayer::pooling_of(int level, const Shape& bottom) const {
  const BinAxis height = bins_of(level, bottom[2], "height"), width = bins_of(level, bottom[3], "width");
  if (param().spp_param().pool() == caffe::SPPParameter::STOCHASTIC && (height.pad > 0 || width.pad > 0)) {
    throw Error(
        ErrorKind::kConfig,
        str("STOCHASTIC pooling has no padding, which level ", level, " of the pyramid needs for ", bottom.str()),
        "use MAX or AVE, or an input whose height and width the bins divide")
        .in_field("spp_param.pool");
  }
  caffe::LayerParameter pooling;
  pooling.set_name(str(name(), " level ", level));
  pooling.set_type("Pooling");
  pooling.set_phase(param().phase());
  pooling.add_bottom("bottom");
  pooling.add_top("top");
  caffe::PoolingParameter& p = *pooling.mutable_pooling_param();
  // Both messages have the same methods.
  p.set_pool(static_cast<caffe::PoolingParameter::PoolMethod>(param().spp_param().pool()));
  p.set_kernel_h(height.window);
  p.set_kernel_w(width.window);
  p.set_stride_h(height.window);
  p.set_stride_w(width.window);
  p.set_pad_h(height.pad);
  p.set_pad_w(width.pad);
  return pooling;
}

std::vector<Shape> SppLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_elements(bottoms);
  if (bottoms[0].axes() != 4) {
    throw Error(ErrorKind::kConfig, str("takes an input of batch, channels, height and width, not ", bottoms[0].str()));
  }
  levels_.clear();
  int64_t numbers = 0;
  for (int level = 0; level < static_cast<int>(param().spp_param().pyramid_height()); ++level) {
    std::unique_ptr<Layer> pooling = make_layer(pooling_of(level, bottoms[0]));
    const Shape top = pooling->infer_tops(bottoms)[0];
    numbers += top.count(1);
    levels_.push_back({std::move(pooling), top});
  }
  // As in Caffe, a pyramid of one level is that pooling, [N, C, 1, 1]; of more it is flat.
  if (levels_.size() == 1) return {levels_[0].top};
  return {{bottoms[0][0], numbers}};
}

double SppLayer::forward_flops(const std::vector<Shape>& bottoms, const std::vector<Shape>&) const {
  return static_cast<double>(levels_.size()) * static_cast<double>(bottoms[0].count());
}

ROBUSTA_REGISTER_LAYER("SPP", SppLayer);

}  // namespace robusta
