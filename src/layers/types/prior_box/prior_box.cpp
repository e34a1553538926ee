// PriorBox: fields, shapes, and the reference kernel.

#include "layers/types/prior_box/prior_box.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "layers/kit/bottom_checks.h"
#include "layers/kit/elementwise.h"
#include "layers/kit/field_checks.h"

namespace robusta {
namespace {

using Numbers = google::protobuf::RepeatedField<float>;

void require_positive(float value, const std::string& field) {
  if (std::isfinite(value) && value > 0) return;
  throw wrong_setting("prior_box_param." + field, str(field, " is ", value), "give a positive number");
}

/// Pixels of the image, cut to whole ones.
float whole_pixels(float size, const std::string& field) {
  if (size >= 1 && size < 0x1p31f) return std::floor(size);
  throw wrong_setting("prior_box_param." + field, str(field, " is ", size), "give pixels of the image, at least 1");
}

/// The ratios of width and height but 1, each once; with `flip` each is followed by its inverse.
std::vector<double> further_ratios(const caffe::PriorBoxParameter& p) {
  // As there: ratios nearer than this are one, among them a ratio and the inverse of another one.
  constexpr double kEqual = 1e-6;
  std::set<double> seen{1};
  const auto is_known = [&](double ratio) {
    for (auto near = seen.lower_bound(ratio - kEqual); near != seen.end() && *near <= ratio + kEqual; ++near) {
      if (std::abs(*near - ratio) < kEqual) return true;
    }
    return false;
  };
  std::vector<double> ratios;
  for (const float given : p.aspect_ratio()) {
    require_positive(given, "aspect_ratio");
    if (is_known(given)) continue;
    ratios.push_back(given);
    if (p.flip()) ratios.push_back(1 / given);
    seen.insert(ratios.end() - (p.flip() ? 2 : 1), ratios.end());
  }
  return ratios;
}

std::vector<PriorSize> prior_sizes(const caffe::PriorBoxParameter& p) {
  const Numbers &least = p.min_size(), &most = p.max_size();
  if (least.empty())
    throw wrong_setting("prior_box_param.min_size", "no min_size is given",
                        "give the size of boxes in pixels of the image");
  if (!most.empty() && most.size() != least.size()) {
    throw wrong_setting("prior_box_param.max_size",
                        str("there are ", most.size(), " max_size and ", least.size(), " min_size"),
                        "give one max_size for each min_size, or none");
  }
  const std::vector<double> ratios = further_ratios(p);
  check_extents(Shape{least.size(), static_cast<int64_t>(ratios.size()) + 2});
  std::vector<PriorSize> sizes;
  for (int i = 0; i < least.size(); ++i) {
    const float size = whole_pixels(least[i], "min_size");
    sizes.push_back({size, size});
    const size_t second = sizes.size();
    if (!most.empty()) {
      if (!(most[i] > least[i])) {
        throw wrong_setting("prior_box_param.max_size", str("max_size ", most[i], " is not above min_size ", least[i]),
                            "give a larger one: the second square lies between both");
      }
      // s' = sqrt(s_k s_(k+1)) of section 2.2, with max_size in the place of the next scale.
      const auto middle = static_cast<float>(std::sqrt(static_cast<double>(size) * whole_pixels(most[i], "max_size")));
      sizes.push_back({middle, middle});
    }
    // All ratios have the same area, size^2.
    for (const double ratio : ratios) {
      sizes.push_back({static_cast<float>(size * std::sqrt(ratio)), static_cast<float>(size / std::sqrt(ratio))});
    }
    const auto after = sizes.begin() + static_cast<std::ptrdiff_t>(second);
    if (p.tf() && !most.empty()) std::rotate(after, after + 1, sizes.end());
  }
  return sizes;
}

/// With `tf`, for an image of this size: of the boxes of each min_size the first one is its square.
std::vector<PriorSize> smaller_squares(std::vector<PriorSize> sizes, size_t min_sizes, const PriorGrid& grid) {
  for (size_t i = 0; i < sizes.size(); i += sizes.size() / min_sizes) {
    if (sizes[i].width != kSmallerSquare) continue;
    sizes[i].width -= kSmallerBy * grid.image_width;
    sizes[i].height -= kSmallerBy * grid.image_height;
  }
  return sizes;
}

/// Of xmin, ymin, xmax, ymax.
std::array<float, 4> variances_of(const Numbers& given) {
  if (given.size() > 1 && given.size() != 4) {
    throw wrong_setting("prior_box_param.variance", str("there are ", given.size(), " values of variance"),
                        "give 4, one for all, or none for 0.1");
  }
  for (const float variance : given) require_positive(variance, "variance");
  std::array<float, 4> variances;
  variances.fill(given.empty() ? 0.1f : given[0]);
  if (given.size() == 4) std::copy(given.begin(), given.end(), variances.begin());
  return variances;
}

/// A number for both axes, or one for each: `one` and `one`_h, `one`_w.
template <typename T>
struct ForAxes {
  std::string one;
  bool has_one, has_h, has_w;
  T both, h, w;

  bool given() const { return has_one || has_h || has_w; }
  T height() const { return has_one ? both : h; }
  T width() const { return has_one ? both : w; }
  void check(const std::string& stem) const {
    if (has_one && (has_h || has_w)) {
      throw wrong_setting("prior_box_param." + one, str("both ", one, " and ", stem, has_h ? "_h" : "_w", " are given"),
                          "give one of them");
    }
    if (!given()) return;
    require_positive(static_cast<float>(height()), has_one ? one : stem + "_h");
    require_positive(static_cast<float>(width()), has_one ? one : stem + "_w");
  }
};

ForAxes<float> steps_of(const caffe::PriorBoxParameter& p) {
  return {"step", p.has_step(), p.has_step_h(), p.has_step_w(), p.step(), p.step_h(), p.step_w()};
}

ForAxes<uint32_t> image_of(const caffe::PriorBoxParameter& p) {
  return {"img_size", p.has_img_size(), p.has_img_h(), p.has_img_w(), p.img_size(), p.img_h(), p.img_w()};
}

void require_image_axes(const Shape& shape, int bottom) {
  if (shape.axes() == 4) return;
  throw Error(ErrorKind::kConfig, str("bottom ", bottom, " has shape ", shape.str()),
              "batch, channels, height and width are wanted")
      .in_field("bottom");
}

}  // namespace

PriorBoxLayer::PriorBoxLayer(const caffe::LayerParameter& param)
    : Layer(param),
      given_(prior_sizes(param.prior_box_param())),
      sizes_(given_),
      variances_(variances_of(param.prior_box_param().variance())) {
  const auto& p = param.prior_box_param();
  steps_of(p).check("step");
  image_of(p).check("img");
  require_finite(p.offset(), "prior_box_param.offset");
}

std::vector<Shape> PriorBoxLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_elements(bottoms);
  require_image_axes(bottoms[0], 0);
  const auto& p = param().prior_box_param();
  const ForAxes<uint32_t> image = image_of(p);
  if (!image.given()) {
    if (bottoms.size() < 2) {
      throw wrong_setting("prior_box_param.img_size", "there is no second bottom and no img_size",
                          "name the blob of the image as the second bottom, or give its size");
    }
    require_image_axes(bottoms[1], 1);
  }
  grid_.height = bottoms[0][2], grid_.width = bottoms[0][3];
  grid_.boxes = static_cast<int64_t>(sizes_.size());
  grid_.image_height = static_cast<float>(image.given() ? image.height() : bottoms[1][2]);
  grid_.image_width = static_cast<float>(image.given() ? image.width() : bottoms[1][3]);
  const ForAxes<float> steps = steps_of(p);
  grid_.step_height = steps.given() ? steps.height() : grid_.image_height / static_cast<float>(grid_.height);
  grid_.step_width = steps.given() ? steps.width() : grid_.image_width / static_cast<float>(grid_.width);
  grid_.offset = p.offset();
  grid_.clip = p.clip();
  grid_.rows_first = p.yx_order();
  if (p.tf()) sizes_ = smaller_squares(given_, static_cast<size_t>(p.min_size_size()), grid_);
  // Coordinates are counted only where that many can be.
  const int64_t pixels = product_or_most(grid_.height, grid_.width);
  const Shape top{1, 2, product_or_most(pixels, product_or_most(grid_.boxes, 4))};
  check_extents(top);
  return {top};
}

namespace {

template <typename T>
class PriorBoxReference : public Kernel {
 public:
  explicit PriorBoxReference(const KernelRequest& request) : layer_(request.layer<PriorBoxLayer>()) {
    book_prior_box(request, booking_);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const PriorGrid& grid = layer_.grid();
    T* boxes = run.tops[0].as<T>();
    parallel_for(grid.height * grid.width, 1 + kElementwiseGrain / (8 * grid.boxes), [&](int64_t pixel) {
      T* at = boxes + pixel * grid.boxes * 4;
      for (const PriorSize size : layer_.sizes()) {
        for (int64_t which = 0; which < 4; ++which) {
          *at++ = static_cast<T>(grid.coordinate(pixel / grid.width, pixel % grid.width, size, which));
        }
      }
    });
    T* variances = boxes + grid.coordinates();
    parallel_for(grid.coordinates(), kElementwiseGrain,
                 [&](int64_t i) { variances[i] = static_cast<T>(layer_.variances()[static_cast<size_t>(i % 4)]); });
  }

  void backward(const KernelRun& run) override {
    for (const Tensor& gradient : run.bottom_diffs) {
      if (gradient) fill_zero(gradient);
    }
  }

 private:
  const PriorBoxLayer& layer_;
};

}  // namespace

ROBUSTA_REGISTER_LAYER("PriorBox", PriorBoxLayer);
ROBUSTA_REGISTER_REFERENCE("PriorBox", PriorBoxReference);

}  // namespace robusta
