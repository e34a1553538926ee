// WindowData: windows of images, drawn at random, as R-CNN trains on them: a part of each batch of the foreground, the
// others of the background and in front. Tops: data [batch, 3, crop, crop], label [batch]. What is drawn for a sample
// depends on the layer's name, the seed, the sample's position and its place in the batch. A reader for window files,
// an order that draws, and a filler that warps; the rest is PrefetchedSource's.

#include <algorithm>

#include "base/philox.h"
#include "base/str.h"
#include "data/image.h"
#include "data/transformer.h"
#include "data/window_file.h"
#include "layers/kit/forced_colors.h"
#include "layers/kit/prefetched_source.h"
#include "layers/types/window_data/window_cut.h"

namespace robusta {
namespace {

constexpr int64_t kColors = 3;  // images are read in colours

[[noreturn]] void wrong_window_data(const std::string& field, const std::string& cause, const std::string& fix) {
  throw Error(ErrorKind::kConfig, cause, fix).in_field(field);
}

ReadingSettings window_reading(const caffe::LayerParameter& layer) {
  const caffe::WindowDataParameter& param = layer.window_data_param();
  if (param.source().empty()) wrong_window_data("window_data_param.source", "no source is given", "name a window file");
  if (param.batch_size() == 0)
    wrong_window_data("window_data_param.batch_size", "batch_size is 0", "set it to 1 or more");
  return {.source = param.source(),
          .field = "window_data_param.source",
          .batch = param.batch_size(),
          .prefetch = prefetched_batches(layer)};
}

CutSettings read_cut(const caffe::LayerParameter& layer) {
  const caffe::WindowDataParameter& param = layer.window_data_param();
  const caffe::TransformationParameter& transform = layer.transform_param();
  const int64_t crop = transform.crop_size();
  if (transform.crop_h() > 0 || transform.crop_w() > 0)
    wrong_window_data("transform_param.crop_h", "windows are warped to squares", "set crop_size");
  if (transform.resize_param_size() > 0)
    wrong_window_data("transform_param.resize_param", "windows are warped to crop_size", "leave it out");
  if (crop == 0)
    wrong_window_data("transform_param.crop_size", "crop_size is 0", "set it to the side that windows are warped to");
  if (crop > kMostPixels / crop)
    wrong_window_data("transform_param.crop_size", str("crop_size is ", crop), "make it smaller");
  const int64_t pad = param.context_pad();
  if (2 * pad >= crop) {
    wrong_window_data("window_data_param.context_pad",
                      str("context_pad ", pad, " on both sides leaves nothing of ", crop),
                      "make it less than half of crop_size");
  }
  if (param.crop_mode() != "warp" && param.crop_mode() != "square")
    wrong_window_data("window_data_param.crop_mode", "unknown crop_mode \"" + param.crop_mode() + "\"",
                      "say warp or square");
  return {crop, pad, param.crop_mode() == "square"};
}

WindowRules read_rules(const caffe::WindowDataParameter& param, const CutSettings& cut) {
  if (!(param.fg_fraction() >= 0 && param.fg_fraction() <= 1))
    wrong_window_data("window_data_param.fg_fraction", str("fg_fraction is ", param.fg_fraction()), "give 0 to 1");
  return {param.fg_threshold(), param.bg_threshold(), cut.context_pad > 0 || cut.square};
}

/// Draws with replacement, at each place among the windows of its kind.
class WindowOrder : public RecordOrder {
 public:
  WindowOrder(std::string layer, const WindowReader& windows, float fraction)
      : layer_(std::move(layer)),
        foreground_(static_cast<uint64_t>(windows.foreground())),
        background_(static_cast<uint64_t>(windows.background())),
        fraction_(fraction) {}

  int64_t index(const BatchPlan& plan, int64_t place) const override {
    // In float and cut, as in Caffe, which fills in the background first.
    const auto foreground = static_cast<int64_t>(static_cast<float>(plan.size) * fraction_);
    const PhiloxBlock words = philox(key(plan.seed), plan.first + static_cast<uint64_t>(place), 0);
    // The remainder of 64 bits favours no window by more than n / 2^64.
    const uint64_t draw = uint64_t{words[0]} << 32 | words[1];
    const bool is_foreground = background_ == 0 || (foreground_ > 0 && place >= plan.size - foreground);
    return static_cast<int64_t>(is_foreground ? draw % foreground_ : foreground_ + draw % background_);
  }
  bool has_epochs() const override { return false; }

 private:
  uint64_t key(uint64_t seed) const { return random_key(seed, layer_, "windows"); }

  std::string layer_;
  uint64_t foreground_, background_;
  float fraction_;
};

/// From the square of the net to that of the mean image, which has the same middle.
int64_t mean_offset(const PixelForm& form, int64_t crop) { return (form.mean_item.width - crop) / 2; }

void check_mean(const PixelForm& form, int64_t crop) {
  const Extent& mean = form.mean_item;
  const auto fail = [](const std::string& field, const std::string& cause, const std::string& fix) {
    throw Error(ErrorKind::kData, cause, fix).in_field("transform_param." + field);
  };
  if (mean.count() > 0 && (mean.channels != kColors || mean.height != mean.width || mean.width < crop)) {
    fail("mean_file", str("the mean image is ", mean.str(), ", windows are 3x", crop, "x", crop),
         "give a square one with 3 channels that is no smaller, or mean_value");
  }
  if (mean.count() == 0 && form.means.size() != 1 && form.means.size() != kColors)
    fail("mean_value", str("there are ", form.means.size(), " values of mean_value"), "give one, or 3");
}

/// The part of an image that a cut names, mirrored or not.
void copy_part(const Image& image, const WindowCut& cut, Image& part) {
  part.reset({image.extent.channels, cut.y2 - cut.y1 + 1, cut.x2 - cut.x1 + 1});
  for (int64_t c = 0; c < part.extent.channels; ++c) {
    for (int64_t y = 0; y < part.extent.height; ++y)
      std::copy_n(image.row(c, cut.y1 + y) + cut.x1, part.extent.width, part.row(c, y));
  }
}

class WindowFiller : public RecordFiller {
 public:
  WindowFiller(std::string layer, const CutSettings& settings, bool mirror, const Transformer& transformer,
               std::shared_ptr<const WindowReader> windows)
      : layer_(std::move(layer)),
        settings_(settings),
        mirror_(mirror),
        transformer_(transformer),
        form_(transformer.form()),
        windows_(std::move(windows)) {
    check_mean(form_, settings_.crop);
  }

  std::vector<Shape> item_shapes(std::string_view, int64_t) const override {
    return {{kColors, settings_.crop, settings_.crop}, {}};
  }

  void fill(std::string_view record, const Sample& sample, Batch& batch) const override {
    thread_local Image image, part, warped;
    const Window& window = windows_->window(sample.record);
    const uint64_t key = random_key(transformer_.seed_or(sample.seed), layer_, "transform");
    const bool mirror = mirror_ && (philox(key, sample.position, 0)[0] & 1);
    decode_image(record, ColorMode::kColor, image);
    const WindowCut cut = cut_window(window, image.extent, settings_, mirror);
    copy_part(image, cut, part);
    resize_bilinear(part.pixels(), cut.height, cut.width, warped);
    float* out = batch.numbers(0) + sample.place * kColors * settings_.crop * settings_.crop;
    // Where a context reaches over the edge of the image the square keeps zeros, which stand for the mean.
    std::fill_n(out, kColors * settings_.crop * settings_.crop, 0.0f);
    for (int64_t c = 0; c < kColors; ++c) {
      for (int64_t y = 0; y < cut.height; ++y) write_row(warped.row(c, y), c, y, cut, mirror, out);
    }
    batch.numbers(1)[sample.place] = static_cast<float>(window.label);
  }

  int label_top() const override { return 1; }
  int label(std::string_view, int64_t index) const override { return windows_->window(index).label; }

 private:
  void write_row(const uint8_t* row, int64_t channel, int64_t y, const WindowCut& cut, bool mirror, float* out) const {
    const int64_t crop = settings_.crop;
    float* to = out + (channel * crop + cut.top + y) * crop + cut.left;
    for (int64_t x = 0; x < cut.width; ++x) {
      const auto pixel = static_cast<float>(row[mirror ? cut.width - 1 - x : x]);
      to[x] = (pixel - mean(channel, cut.top + y, cut.left + x)) * form_.scale;
    }
  }

  /// At a place of the square.
  float mean(int64_t channel, int64_t y, int64_t x) const {
    const Extent& item = form_.mean_item;
    if (item.count() == 0) return form_.means[form_.means.size() > 1 ? static_cast<size_t>(channel) : 0];
    const int64_t offset = mean_offset(form_, settings_.crop);
    return form_.means[static_cast<size_t>((channel * item.height + y + offset) * item.width + x + offset)];
  }

  std::string layer_;
  CutSettings settings_;
  bool mirror_;
  Transformer transformer_;
  PixelForm form_;  // its
  std::shared_ptr<const WindowReader> windows_;
};

class WindowDataLayer : public PrefetchedSource {
 public:
  explicit WindowDataLayer(const caffe::LayerParameter& param)
      : PrefetchedSource(param, window_reading(param)),
        cut_(read_cut(param)),
        rules_(read_rules(param.window_data_param(), cut_)) {}
  Arity arity() const override { return {.min_bottoms = 0, .max_bottoms = 0, .min_tops = 2, .max_tops = 2}; }

 protected:
  RecordSource open_records(const std::string& source) const override {
    warn_of_forced_colors(param(), "windows are read in colours");
    const caffe::WindowDataParameter& settings = param().window_data_param();
    auto windows = std::make_shared<WindowReader>(source, settings.root_folder(), rules_, settings.cache_images());
    require_both(*windows, settings.fg_fraction());
    const caffe::TransformationParameter& transform = param().transform_param();
    const Transformer transformer(transform, training());
    if (transformer.alters_images()) {
      throw Error(ErrorKind::kUnsupported, "of transformations windows know crop_size, mirror, means and scale alone",
                  "leave the others out")
          .in_field("transform_param");
    }
    auto filler = std::make_unique<WindowFiller>(name(), cut_, transform.mirror(), transformer, windows);
    auto order = std::make_unique<WindowOrder>(name(), *windows, settings.fg_fraction());
    return {std::move(windows), std::move(filler), std::move(order)};
  }

  AssumedItem assumed_item(const std::string&) const override {
    return {{kColors, cut_.crop, cut_.crop}, "the size of the crop", true, true};
  }

 private:
  static void require_both(const WindowReader& windows, float fraction) {
    const bool no_foreground = fraction > 0 && windows.foreground() == 0;
    const bool no_background = fraction < 1 && windows.background() == 0;
    if (!no_foreground && !no_background) return;
    throw Error(ErrorKind::kData, str("no window is of the ", no_foreground ? "foreground" : "background"),
                "look at fg_threshold, bg_threshold, fg_fraction and the overlaps in the file")
        .at(windows.source());
  }

  CutSettings cut_;
  WindowRules rules_;
};

ROBUSTA_REGISTER_LAYER("WindowData", WindowDataLayer);

}  // namespace
}  // namespace robusta
