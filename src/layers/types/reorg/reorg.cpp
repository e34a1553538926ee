// Reorg: squares of stride x stride pixels become channels, or, with `reverse`, channels become such squares (Redmon
// and Farhadi 2017, "YOLO9000: Better, Faster, Stronger", section 2, the passthrough layer; as intel/caffe has it).
//
// What lies where comes from Darknet: for either direction its loops run over the shape of the bottom. With `reverse`
// that is depth to space, channel (i * stride + j) * C + c going to row i and column j of each square of channel c.
// Without, the bottom's bytes are taken for channels / stride^2 planes that are `stride` times as high and as wide, and
// squares of *these* become channels. Trained nets depend on it. Memory alone says what moves where, so both are plain.
//
// With `reverse` and `by_channel` channel (c * stride + i) * stride + j goes there instead (Shi et al. 2016, "Real-Time
// Single Image and Video Super-Resolution Using an Efficient Sub-Pixel Convolutional Neural Network", equation 4).

#include "layers/kit/bottom_checks.h"
#include "layers/kit/gather_layer.h"

namespace robusta {
namespace {

class ReorgLayer : public GatherLayer {
 public:
  explicit ReorgLayer(const caffe::LayerParameter& param) : GatherLayer(param) {
    if (by_channel() && !reverse()) {
      throw Error(ErrorKind::kConfig, "by_channel is given without reverse", "give reverse: true, too, or leave it out")
          .in_field("reorg_param.by_channel");
    }
    if (stride() >= 1) return;
    throw Error(ErrorKind::kConfig, param.reorg_param().has_stride() ? "stride is 0" : "no stride is given",
                "give the height and width of the squares that become channels")
        .in_field("reorg_param.stride");
  }
  Arity arity() const override { return {}; }
  bool plain_alone() const override { return true; }

  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override {
    require_elements(bottoms);
    bottom_ = bottoms[0];
    if (bottom_.axes() != 4) {
      throw Error(ErrorKind::kConfig, str("takes an input of batch, channels, height and width, not ", bottom_.str()));
    }
    const int64_t area = product_or_most(stride(), stride());
    if (bottom_[1] % area != 0) refuse("channels", bottom_[1], area);
    if (reverse()) return {{bottom_[0], bottom_[1] / area, bottom_[2] * stride(), bottom_[3] * stride()}};
    if (bottom_[2] % stride() != 0) refuse("rows", bottom_[2], stride());
    if (bottom_[3] % stride() != 0) refuse("columns", bottom_[3], stride());
    return {{bottom_[0], bottom_[1] * area, bottom_[2] / stride(), bottom_[3] / stride()}};
  }

  std::vector<std::vector<GatherAxis>> steps(const std::vector<int64_t>&) const override {
    const int64_t s = stride(), batch = bottom_[0], channels = bottom_[1] / (s * s), h = bottom_[2], w = bottom_[3];
    const int64_t image = bottom_.count(1), plane = h * w, row = w * s;
    if (reverse() && by_channel()) {
      return {{{batch, image}, {channels, s * s * plane}, {h, w}, {s, s * plane}, {w, 1}, {s, plane}}};
    }
    if (reverse()) {
      return {{{batch, image}, {channels, plane}, {h, w}, {s, s * channels * plane}, {w, 1}, {s, channels * plane}}};
    }
    return {{{batch, image}, {s, row}, {s, 1}, {channels, plane * s * s}, {h, row * s}, {w, s}}};
  }

 private:
  int64_t stride() const { return param().reorg_param().stride(); }
  bool reverse() const { return param().reorg_param().reverse(); }
  bool by_channel() const { return param().reorg_param().by_channel(); }

  [[noreturn]] void refuse(const char* what, int64_t count, int64_t divisor) const {
    throw Error(ErrorKind::kConfig, str("the ", count, " ", what, " are no multiple of ", divisor),
                str("stride ", stride(), " asks for that"))
        .in_field("reorg_param.stride");
  }

  Shape bottom_;
};

}  // namespace

ROBUSTA_REGISTER_GATHER("Reorg", ReorgLayer);

}  // namespace robusta
