// The order of the draws is that of the steps; each is there or not as settings and boxes say.

#include "layers/types/image_gt_data/image_placing.h"

#include <algorithm>
#include <cmath>

#include "base/str.h"
#include "data/image.h"
#include "robusta/error.h"

namespace robusta {
namespace {

int64_t below(PhiloxStream& draws, int64_t n) {
  return static_cast<int64_t>(draws.below(static_cast<uint64_t>(std::max<int64_t>(1, n))));
}

struct Scales {
  float x = 1, y = 1;
};

/// An image on its way to the canvas.
class Placing {
 public:
  Placing(const Extent& image, const ImageObjects& objects, const PlacingSettings& settings, PhiloxStream& draws)
      : settings_(settings), draws_(draws), height_(image.height), width_(image.width) {
    placed_.objects = objects.objects;
    placed_.unseen = objects.unseen;
  }

  PlacedImage run() {
    mirror();
    resize();
    choose_middle();
    const Scales scales = draw_scales();
    cut_and_scale(scales);
    show(scales);
    ignore_what_is_no_example();
    return std::move(placed_);
  }

 private:
  /// All boxes: scaled, then shifted.
  void move_boxes(float scale_x, float scale_y, float shift_x, float shift_y) {
    const auto moved = [&](const Box<float>& b) {
      return Box<float>{scale_x * b.xmin + shift_x, scale_y * b.ymin + shift_y, scale_x * b.xmax + shift_x,
                        scale_y * b.ymax + shift_y};
    };
    for (ImageObject& object : placed_.objects) object.box = moved(object.box);
    for (Box<float>& box : placed_.unseen) box = moved(box);
  }

  void mirror() {
    placed_.mirror = settings_.mirror && below(draws_, 2) == 1;
    if (!placed_.mirror) return;
    const auto wide = static_cast<float>(width_);
    const auto turned = [wide](const Box<float>& b) {
      return Box<float>{wide - b.xmax, b.ymin, wide - b.xmin, b.ymax};
    };
    for (ImageObject& object : placed_.objects) object.box = turned(object.box);
    for (Box<float>& box : placed_.unseen) box = turned(box);
  }

  void resize() {
    const int64_t height = settings_.resized_height, width = settings_.resized_width;
    if (height > 0 && (height != height_ || width != width_)) {
      move_boxes(static_cast<float>(width) / static_cast<float>(width_),
                 static_cast<float>(height) / static_cast<float>(height_), 0, 0);
      height_ = height, width_ = width;
    }
    placed_.resized_height = height_, placed_.resized_width = width_;
  }

  /// The canvas shows an object that is drawn; of an image without any, any part.
  void choose_middle() {
    if (!placed_.objects.empty()) {
      box_ = placed_.objects[static_cast<size_t>(below(draws_, static_cast<int64_t>(placed_.objects.size())))].box;
      middle_x_ = (box_.xmin + box_.xmax) / 2, middle_y_ = (box_.ymin + box_.ymax) / 2;
      return;
    }
    const auto anywhere = [this](int64_t image, int64_t canvas) {
      if (image < canvas) return static_cast<float>(image) / 2;
      return static_cast<float>(below(draws_, image - canvas + 1)) + static_cast<float>(canvas) / 2;
    };
    middle_x_ = anywhere(width_, settings_.width);
    middle_y_ = anywhere(height_, settings_.height);
  }

  /// Two scales for each doubling, by which the box has a size of min_scale to max_scale.
  Scales draw_scales() {
    constexpr float kOctave = 2;
    // Half of the images keep their scale.
    if (settings_.min_scale <= 0 || placed_.objects.empty() || below(draws_, 2) == 0) return {};
    const auto count = std::lround(kOctave * std::log2(settings_.max_scale / settings_.min_scale) + 1);
    const float area = box_.width() * box_.height();
    float most_common = 0, own = 0;
    for (int64_t i = 0; i < count; ++i) {
      const float octave = static_cast<float>(i) / kOctave;
      const float side = settings_.min_scale * std::exp2(octave), square = side * side;
      const float common = std::min(area, square) / std::max(area, square);
      if (common > most_common) most_common = common, own = octave;
    }
    const float scale = std::exp2(static_cast<float>(below(draws_, count)) / kOctave - own);
    Scales scales{scale, scale};
    if (settings_.min_aspect > 0 && below(draws_, 2) == 1) draw_aspect(scales);
    return scales;
  }

  /// A ratio, reached by one of both sides, unless the box became too small or too large by it.
  void draw_aspect(Scales& scales) {
    constexpr float kStep = 0.05f;
    const auto steps = std::lround((settings_.max_aspect - settings_.min_aspect) / kStep);
    const float aspect = static_cast<float>(below(draws_, steps)) * kStep + settings_.min_aspect;
    const float by = aspect / (box_.width() / box_.height());
    const auto fits = [this](float side) {
      return side >= settings_.min_scale * 0.8f && side <= settings_.max_scale * 1.2f;
    };
    if (below(draws_, 2) == 1) {
      if (fits(box_.width() * scales.x * by)) scales.x *= by;
    } else if (fits(box_.height() * scales.y / by)) {
      scales.y /= by;
    }
  }

  /// An image that grows much is cut first to a little more than the canvas could show of it.
  void cut_and_scale(const Scales& scales) {
    constexpr float kMuch = 1.5f;
    constexpr double kMore = 1.2;
    placed_.cut = {0, 0, height_, width_};
    if (scales.x > kMuch || scales.y > kMuch) {
      const auto cut = [](int64_t size, float scale, float middle, int64_t& begin, int64_t& length) {
        const double wanted = std::round(kMore * static_cast<double>(size) / static_cast<double>(scale));
        length = std::max<int64_t>(1, static_cast<int64_t>(std::min(wanted, static_cast<double>(size))));
        begin = std::lround(middle - static_cast<float>(length) * 0.5f);
        begin = std::clamp<int64_t>(begin, 0, size - length);
      };
      cut(width_, scales.x, middle_x_, placed_.cut.left, placed_.cut.width);
      cut(height_, scales.y, middle_y_, placed_.cut.top, placed_.cut.height);
      const auto left = static_cast<float>(placed_.cut.left), top = static_cast<float>(placed_.cut.top);
      middle_x_ -= left, middle_y_ -= top;
      move_boxes(1, 1, -left, -top);
    }
    placed_.width = scaled(placed_.cut.width, scales.x);
    placed_.height = scaled(placed_.cut.height, scales.y);
    if (placed_.width > kMostPixels / placed_.height) {
      throw Error(ErrorKind::kData,
                  str("its box would have the size that was drawn in an image of ", placed_.height, " x ",
                      placed_.width, " pixels"),
                  "make min_scale and max_scale less different, or leave such boxes out");
    }
    move_boxes(scales.x, scales.y, 0, 0);
  }

  static int64_t scaled(int64_t size, float scale) {
    const float wanted = std::round(static_cast<float>(size) * scale);
    return static_cast<int64_t>(std::clamp(wanted, 1.0f, static_cast<float>(kMostPixels)));
  }

  void show(const Scales& scales) {
    // So that objects do not always lie in the middle of the canvas: from 10 pixels before it to 9 behind.
    constexpr int64_t kNoise = 10;
    const int64_t noise_x = below(draws_, 2 * kNoise) - kNoise, noise_y = below(draws_, 2 * kNoise) - kNoise;
    const auto part = [](int64_t image, int64_t canvas, float middle, int64_t noise, int64_t& from, int64_t& length,
                         int64_t& to) {
      length = std::min(image, canvas);
      from = to = 0;
      if (image < canvas) {
        const int64_t centred = std::lround(static_cast<double>(canvas - image) / 2) + noise;
        to = std::clamp<int64_t>(centred, 0, canvas - image);
      } else if (image > canvas) {
        const int64_t begin = std::lround(middle) + noise - std::lround(static_cast<double>(canvas) / 2);
        from = std::clamp<int64_t>(begin, 0, image - canvas);
      }
    };
    PixelRect& shown = placed_.shown;
    part(placed_.width, settings_.width, middle_x_ * scales.x, noise_x, shown.left, shown.width, placed_.left);
    part(placed_.height, settings_.height, middle_y_ * scales.y, noise_y, shown.top, shown.height, placed_.top);
    move_boxes(1, 1, static_cast<float>(placed_.left - shown.left), static_cast<float>(placed_.top - shown.top));
  }

  /// Boxes whose middle is outside of the canvas, and those that are too small.
  void ignore_what_is_no_example() {
    for (ImageObject& object : placed_.objects) {
      const Box<float>& box = object.box;
      const float x = (box.xmin + box.xmax) / 2, y = (box.ymin + box.ymax) / 2;
      const bool outside =
          x < 0 || x >= static_cast<float>(settings_.width) || y < 0 || y >= static_cast<float>(settings_.height);
      const bool small = box.width() + 1 < settings_.min_width || box.height() + 1 < settings_.min_height;
      object.ignored = object.ignored || outside || small;
    }
  }

  const PlacingSettings& settings_;
  PhiloxStream& draws_;
  PlacedImage placed_;
  int64_t height_, width_;
  Box<float> box_{};  // the one that was drawn
  float middle_x_ = 0, middle_y_ = 0;
};

}  // namespace

PlacedImage place_image(const Extent& image, const ImageObjects& objects, const PlacingSettings& settings,
                        PhiloxStream draws) {
  return Placing(image, objects, settings, draws).run();
}

}  // namespace robusta
