// Clip: y = min(max(x, min), max), dy/dx = 1 for min <= x <= max, 0 else, as in BVLC Caffe. A NaN stays one.

#include "base/str.h"
#include "layers/backends/formula.h"

namespace robusta {
namespace {

class ClipLayer : public ElementwiseLayer {
 public:
  explicit ClipLayer(const caffe::LayerParameter& param) : ElementwiseLayer(param) {
    const caffe::ClipParameter& clip = param.clip_param();
    if (!clip.has_min() || !clip.has_max()) {
      throw Error(ErrorKind::kConfig, "clip_param lacks min or max", "give both, -inf or inf for no limit")
          .in_field("clip_param");
    }
    if (clip.min() <= clip.max()) return;
    throw Error(ErrorKind::kConfig, str("there is nothing between min ", clip.min(), " and max ", clip.max()))
        .in_field("clip_param.max");
  }
};

template <typename Math>
struct Clip {
  using T = typename Math::T;
  explicit Clip(const caffe::LayerParameter& layer) : min(layer.clip_param().min()), max(layer.clip_param().max()) {}
  static SlopeFrom slope_from() { return SlopeFrom::kBottom; }
  ROBUSTA_GPU T value(T x) const { return Math::select(x < min, min, Math::select(x > max, max, x)); }
  ROBUSTA_GPU T slope(T x) const { return static_cast<T>((x >= min) & (x <= max)); }

  T min, max;
};

}  // namespace

ROBUSTA_REGISTER_FORMULA("Clip", Clip, ClipLayer);

}  // namespace robusta
