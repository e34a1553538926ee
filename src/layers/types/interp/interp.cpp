// Interp: images of another size, bilinear, with the corners on each other (Chen et al. 2017, "DeepLab"; gpapan/caffe,
// xmyqsh/deeplab-v2, hszhao/PSPNet).
//
// The size is height x width, or that of bottom 1 (use_blob_size, as in soeaver/caffe-model's pyramids); or, of what is
// left when pad_beg and pad_end (both <= 0) have cut off the margins, the distances between pixels are divided by
// zoom_factor, or multiplied by shrink_factor, or first the one and then the other.

#include "layers/kit/bottom_checks.h"
#include "layers/kit/sampling.h"

namespace robusta {
namespace {

Error bad_field(const std::string& field, const std::string& cause, const std::string& fix) {
  return Error(ErrorKind::kConfig, cause, fix).in_field("interp_param." + field);
}

class InterpLayer : public SamplingLayer {
 public:
  explicit InterpLayer(const caffe::LayerParameter& param) : SamplingLayer(param) {
    const auto& p = param.interp_param();
    const bool of_blob = param.bottom_size() > 1;
    if (p.use_blob_size() != of_blob) {
      throw bad_field(
          "use_blob_size",
          of_blob ? "a second bottom is there for its size alone" : "there is no second bottom for the size",
          of_blob ? "write use_blob_size: true, or remove the second bottom" : "name it as the second bottom");
    }
    if (p.has_height() != p.has_width()) {
      throw bad_field(p.has_height() ? "height" : "width", "height and width are given together or not at all",
                      "give both");
    }
    const bool factors = p.has_zoom_factor() || p.has_shrink_factor();
    if (of_blob && (factors || p.has_height())) {
      throw bad_field("use_blob_size", "the size is that of the second bottom, and another one is given",
                      "remove height, width, zoom_factor and shrink_factor");
    }
    if (!of_blob && p.has_height() == factors) {
      throw bad_field("height", factors ? "both a size and a factor are given" : "neither a size nor a factor is given",
                      "give height and width, or zoom_factor or shrink_factor");
    }
    require_positive("zoom_factor", p.zoom_factor());
    require_positive("shrink_factor", p.shrink_factor());
    if (p.pad_beg() > 0 || p.pad_end() > 0) {
      throw bad_field(p.pad_beg() > 0 ? "pad_beg" : "pad_end", "a margin cannot be added", "use a Padding layer");
    }
  }

  Arity arity() const override { return {1, 2, 1, 1}; }

  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override {
    require_elements(bottoms);
    for (const Shape& bottom : bottoms) {
      if (bottom.axes() == 4) continue;
      throw Error(ErrorKind::kConfig, str("takes an input of batch, channels, height and width, not ", bottom.str()));
    }
    const auto& p = param().interp_param();
    const bool of_blob = bottoms.size() > 1;
    const int64_t height = of_blob ? bottoms[1][2] : p.height(), width = of_blob ? bottoms[1][3] : p.width();
    return {sample_planes(bottoms[0], axis(bottoms[0], 2, height), axis(bottoms[0], 3, width))};
  }

 private:
  static void require_positive(const char* field, int64_t value) {
    if (value < 1) throw bad_field(field, str(field, " is ", value), "give at least 1");
  }

  SampledAxis axis(const Shape& bottom, int axis, int64_t given) const {
    const auto& p = param().interp_param();
    const int64_t in = bottom[axis], begin = -int64_t{p.pad_beg()}, seen = in - begin + p.pad_end();
    if (seen < 1) throw bad_field("pad_beg", str("nothing is left of ", bottom.str()), "cut off less");
    const char* what = axis == 2 ? "height" : "width";
    check_sampled_extent(in, what, "bottom");
    const bool is_given = given > 0 || p.has_height();
    const int64_t out = is_given ? given : (seen - 1) / p.shrink_factor() * int64_t{p.zoom_factor()} + 1;
    check_sampled_extent(out, what, is_given ? str("interp_param.", what) : "interp_param.zoom_factor");
    return linear_axis(SampledBy::kCorners, in, begin, seen, out);
  }
};

}  // namespace

ROBUSTA_REGISTER_SAMPLING("Interp", InterpLayer);

}  // namespace robusta
