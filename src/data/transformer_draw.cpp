// Where the image of a sample goes: sizes, regions and the crop, as pure functions of the position, with the boxes that
// go along.

#include <algorithm>

#include "base/philox.h"
#include "base/str.h"
#include "data/transform/draws.h"
#include "data/transformer.h"
#include "robusta/error.h"

namespace robusta {
namespace {

/// Uniform in 0..n-1 from one word.
int64_t draw_below(uint32_t word, int64_t n) {
  return static_cast<int64_t>((uint64_t{word} * static_cast<uint64_t>(n)) >> 32);
}

void add_step(ImageStep step, Drawn& drawn) {
  drawn.whole.height = step.height;
  drawn.whole.width = step.width;
  drawn.steps.push_back(std::move(step));
}

/// The canvas as a part of the image on it, beyond whose edges it reaches.
PixelRect canvas_around(const ImageStep& step) { return {-step.rect.top, -step.rect.left, step.height, step.width}; }

/// The steps that change an image's size; boxes go with the parts that are cut, and onto canvases.
void take_steps(const std::vector<ImageStep>& steps, const BoxRule& rule, std::vector<AnnotatedBox>& boxes,
                Drawn& drawn) {
  for (const ImageStep& step : steps) {
    if (step.kind == ImageStep::Kind::kCut) {
      project(region_of(step.rect, drawn.whole), rule, boxes);
    } else if (step.rect.height != step.height || step.rect.width != step.width) {  // with a border
      const Extent inner{drawn.whole.channels, step.rect.height, step.rect.width};
      project(region_of(canvas_around(step), inner), rule, boxes);
    }
    add_step(step, drawn);
  }
}

/// The pixels of a patch, at least one: what the corners say, rounded down as in SSD.
ImageStep patch_step(const Box<float>& patch, const Extent& image) {
  const auto cut = [](float begin, float end, int64_t size) {
    const float from = begin * static_cast<float>(size), to = end * static_cast<float>(size);
    const int64_t first = std::clamp<int64_t>(static_cast<int64_t>(from), 0, size - 1);
    return std::pair{first, std::clamp<int64_t>(static_cast<int64_t>(to - from), 1, size - first)};
  };
  const auto [top, height] = cut(patch.ymin, patch.ymax, image.height);
  const auto [left, width] = cut(patch.xmin, patch.xmax, image.width);
  return {.kind = ImageStep::Kind::kCut, .rect = {top, left, height, width}, .height = height, .width = width};
}

bool changes_nothing(const ImageStep& step, const Extent& image) {
  return step.height == image.height && step.width == image.width && step.rect.height == image.height &&
         step.rect.width == image.width;
}

}  // namespace

Drawn Transformer::draw(const Extent& item, uint64_t key, uint64_t position, Annotations* annotations) const {
  Drawn drawn{.steps = {}, .whole = item, .window = {}};
  draw_steps(key, position, drawn, annotations);
  check_mean(drawn.whole);
  check_crop(drawn.whole);
  draw_window(key, position, drawn);
  if (annotations) move_to_window(drawn, annotations->boxes);
  return drawn;
}

void Transformer::draw_steps(uint64_t key, uint64_t position, Drawn& drawn, Annotations* annotations) const {
  std::vector<AnnotatedBox> none;
  std::vector<AnnotatedBox>& boxes = annotations ? annotations->boxes : none;
  if (expansion_) {
    if (const auto step = expansion_->step(drawn.whole, draws_of(key, position, DrawnFor::kExpansion))) {
      project(region_of(canvas_around(*step), drawn.whole), rule_, boxes);
      add_step(*step, drawn);
    }
  }
  if (annotations && annotations->sampler) {
    if (const auto patch = annotations->sampler->draw(boxes, draws_of(key, position, DrawnFor::kPatch))) {
      project(*patch, rule_, boxes);
      add_step(patch_step(*patch, drawn.whole), drawn);
    }
  }
  if (random_size_) {
    take_steps(random_size_->steps(drawn.whole, draws_of(key, position, DrawnFor::kSize)), rule_, boxes, drawn);
  }
  PhiloxStream draws = draws_of(key, position, DrawnFor::kResize);
  if (resize_ && resize_->applies(draws)) {
    ImageStep step = resize_->step(drawn.whole, draws);
    for (AnnotatedBox& annotated : boxes) annotated.box = resize_->moved(annotated.box, drawn.whole);
    if (!changes_nothing(step, drawn.whole)) add_step(std::move(step), drawn);
  }
  if (!scaled_crop_) return;
  check_crop(drawn.whole);
  take_steps(scaled_crop_->steps(drawn.whole, draws_of(key, position, DrawnFor::kScaledCrop)), rule_, boxes, drawn);
}

void Transformer::draw_window(uint64_t key, uint64_t position, Drawn& drawn) const {
  const bool random_crop = crops() && training_;
  const PhiloxBlock words = mirror_ || random_crop ? philox(key, position, 0) : PhiloxBlock{};
  drawn.window.mirror = mirror_ && (words[0] & 1);
  const Extent taken = window_of(drawn.whole);
  const int64_t room_below = drawn.whole.height - taken.height, room_right = drawn.whole.width - taken.width;
  drawn.window.top = static_cast<int32_t>(random_crop ? draw_below(words[1], room_below + 1) : room_below / 2);
  drawn.window.left = static_cast<int32_t>(random_crop ? draw_below(words[2], room_right + 1) : room_right / 2);
}

PixelRect Transformer::rect_of(const PixelWindow& window, const Extent& whole) const {
  const Extent taken = window_of(whole);
  return {window.top, window.left, taken.height, taken.width};
}

PixelRect Transformer::part_read(const Extent& decoded, const Extent& image, uint64_t key, uint64_t position) const {
  const bool looks_at_all = distortion_ || noise_ || is_flow_;
  if (looks_at_all) return all_of(decoded);
  const Drawn drawn = draw(image, key, position);
  const PixelRect window = rect_of(drawn.window, drawn.whole);
  if (drawn.steps.empty()) return decoded == image ? window : all_of(decoded);
  const ImageStep& first = drawn.steps.front();
  if (first.kind == ImageStep::Kind::kCut) return decoded == image ? first.rect : all_of(decoded);
  const bool is_all = drawn.steps.size() == 1 && first.rect == PixelRect{0, 0, first.height, first.width};
  if (!is_all || first.interpolation != Interpolation::kLinear) return all_of(decoded);
  return read_by_resize(decoded, first.height, first.width, window);
}

/// From the whole image to the window, and maybe to parts of SSD's fixed size.
void Transformer::move_to_window(const Drawn& drawn, std::vector<AnnotatedBox>& boxes) const {
  const Extent taken = window_of(drawn.whole);
  project(region_of(rect_of(drawn.window, drawn.whole), drawn.whole), rule_, boxes);
  if (drawn.window.mirror) mirror(boxes);
  if (!resize_ || resize_->height_scale() == 0) return;
  if (taken.height < resize_->height_scale() || taken.width < resize_->width_scale()) {
    throw Error(ErrorKind::kData,
                str("it comes out as ", taken.str(), ", smaller than height_scale x width_scale: ",
                    resize_->height_scale(), "x", resize_->width_scale()),
                "lower height_scale and width_scale");
  }
  const float high = static_cast<float>(taken.height) / static_cast<float>(resize_->height_scale());
  const float wide = static_cast<float>(taken.width) / static_cast<float>(resize_->width_scale());
  for (AnnotatedBox& annotated : boxes) {
    Box<float>& box = annotated.box;
    box = {box.xmin * wide, box.ymin * high, box.xmax * wide, box.ymax * high};
  }
}

}  // namespace robusta
