// Settings are checked once; rows are written with one loop per kind of mean. What is drawn: transformer_draw.cpp.

#include "data/transformer.h"

#include <algorithm>
#include <set>
#include <string>

#include "base/philox.h"
#include "base/simd.h"
#include "base/str.h"
#include "data/transform/draws.h"
#include "data/transform/setting_checks.h"
#include "robusta/error.h"
#include "schema/blob_proto.h"
#include "schema/mean_file.h"

namespace robusta {
namespace {

using caffe::TransformationParameter;

/// What is done here, and what changes no result in the programs that know it.
const std::set<std::string>& known_fields() {
  static const std::set<std::string> fields{"scale",
                                            "mirror",
                                            "crop_size",
                                            "mean_file",
                                            "mean_value",
                                            "force_color",
                                            "force_gray",
                                            "resize_param",
                                            "noise_param",
                                            "emit_constraint",
                                            "crop_h",
                                            "crop_w",
                                            "distort_param",
                                            "expand_param",
                                            "random_resize_param",
                                            "random_aspect_ratio_param",
                                            "display",
                                            "random_seed",
                                            "num_labels",
                                            "use_gpu_transform",
                                            "img_rand_resize_lower",
                                            "img_rand_resize_upper",
                                            "rand_resize_ratio_lower",
                                            "rand_resize_ratio_upper",
                                            "vertical_stretch_lower",
                                            "vertical_stretch_upper",
                                            "horizontal_stretch_lower",
                                            "horizontal_stretch_upper",
                                            "allow_upscale",
                                            "interpolation_algo_down",
                                            "interpolation_algo_up",
                                            "fix_crop",
                                            "more_fix_crop",
                                            "multi_scale",
                                            "scale_ratios",
                                            "max_distort",
                                            "is_flow"};
  return fields;
}

constexpr char kResizePath[] = "transform_param.resize_param.";

[[noreturn]] void unsupported(const std::string& field, const std::string& what) {
  throw Error(ErrorKind::kUnsupported, what, "leave it out, or prepare the images so beforehand").in_field(field);
}

/// A field that says the same as its absence is let pass.
bool says_nothing(const google::protobuf::Message& message, const google::protobuf::FieldDescriptor* field) {
  using Field = google::protobuf::FieldDescriptor;
  const auto* reflection = message.GetReflection();
  if (field->is_repeated()) return false;
  switch (field->cpp_type()) {
    case Field::CPPTYPE_BOOL:
      return reflection->GetBool(message, field) == field->default_value_bool();
    case Field::CPPTYPE_UINT32:
      return reflection->GetUInt32(message, field) == field->default_value_uint32();
    case Field::CPPTYPE_FLOAT:
      return reflection->GetFloat(message, field) == field->default_value_float();
    case Field::CPPTYPE_ENUM:
      return reflection->GetEnum(message, field) == field->default_value_enum();
    default:
      return false;
  }
}

/// Nothing that a prototxt asks for may be ignored in silence.
void refuse_unknown(const google::protobuf::Message& message, const std::set<std::string>& known,
                    const std::string& path) {
  std::vector<const google::protobuf::FieldDescriptor*> given;
  message.GetReflection()->ListFields(message, &given);
  for (const auto* field : given) {
    if (known.count(field->name()) || says_nothing(message, field)) continue;
    unsupported(path + field->name(), path + field->name() + " is not done by this build");
  }
}

ColorMode color_mode_of(const TransformationParameter& param) {
  if (param.force_color() && param.force_gray()) {
    throw Error(ErrorKind::kConfig, "force_color and force_gray are both set", "set one of them")
        .in_field("transform_param.force_gray");
  }
  return param.force_color() ? ColorMode::kColor : param.force_gray() ? ColorMode::kGray : ColorMode::kAsStored;
}

/// All of them in Caffe's order, the mean first and then the scale: the other one rounds differently.
ROBUSTA_SIMD void write_row(const uint8_t* in, int64_t width, float mean, float scale, float* out) {
  for (int64_t x = 0; x < width; ++x) out[x] = (static_cast<float>(in[x]) - mean) * scale;
}
ROBUSTA_SIMD void write_row(const float* in, int64_t width, float mean, float scale, float* out) {
  for (int64_t x = 0; x < width; ++x) out[x] = (in[x] - mean) * scale;
}
ROBUSTA_SIMD void write_row(const uint8_t* in, int64_t width, const float* mean, float scale, float* out) {
  for (int64_t x = 0; x < width; ++x) out[x] = (static_cast<float>(in[x]) - mean[x]) * scale;
}
ROBUSTA_SIMD void write_row(const float* in, int64_t width, const float* mean, float scale, float* out) {
  for (int64_t x = 0; x < width; ++x) out[x] = (in[x] - mean[x]) * scale;
}

/// Motion as it is seen in a mirror: what went to the right goes to the left. From src/caffe/data_transformer.cpp of
/// yjxiong/caffe, is_flow.
void turn_flow(Image& image) {
  const auto plane = static_cast<size_t>(image.extent.height * image.extent.width);
  for (size_t c = 0; c < static_cast<size_t>(image.extent.channels); c += 2) {
    for (size_t i = c * plane; i < (c + 1) * plane; ++i) image.planes[i] = static_cast<uint8_t>(255 - image.planes[i]);
  }
}

/// The item in memory that may be written to.
Image& copied(const Pixels& item, Image& to) {
  if (item.bytes == to.planes.data()) return to;
  to.reset(item.extent);
  std::copy_n(item.bytes, item.extent.count(), to.planes.data());
  return to;
}

}  // namespace

Transformer::Transformer(const TransformationParameter& param, bool training, bool takes_patches)
    : training_(training),
      mirror_(param.mirror()),
      is_flow_(param.is_flow()),
      scale_(param.scale()),
      own_seed_(param.random_seed()),
      color_mode_(color_mode_of(param)) {
  refuse_unknown(param, known_fields(), "transform_param.");
  read_crop(param);
  read_mean(param);
  read_steps(param, takes_patches);
}

void Transformer::read_crop(const TransformationParameter& param) {
  crop_height_ = crop_width_ = param.crop_size();
  if (param.crop_h() == 0 && param.crop_w() == 0) return;
  if (param.crop_size() > 0 || param.crop_h() == 0 || param.crop_w() == 0) {
    throw Error(ErrorKind::kConfig, "crop_h and crop_w go together, and not with crop_size",
                "set crop_size, or both crop_h and crop_w")
        .in_field(param.crop_h() ? "transform_param.crop_h" : "transform_param.crop_w");
  }
  crop_height_ = param.crop_h();
  crop_width_ = param.crop_w();
}

void Transformer::read_mean(const TransformationParameter& param) {
  mean_values_.assign(param.mean_value().begin(), param.mean_value().end());
  if (!param.has_mean_file()) return;
  if (!mean_values_.empty()) {
    throw Error(ErrorKind::kConfig, "mean_file and mean_value are both set", "set one of them")
        .in_field("transform_param.mean_value");
  }
  try {
    BlobData mean = read_mean_file(param.mean_file());
    mean_extent_ = {mean.shape[0], mean.shape[1], mean.shape[2]};
    mean_image_ = std::move(mean.data);
  } catch (Error& error) {
    throw error.in_field("transform_param.mean_file");
  }
}

void Transformer::read_steps(const TransformationParameter& param, bool takes_patches) {
  if (param.has_distort_param()) distortion_.emplace(param.distort_param());
  if (param.has_expand_param()) expansion_.emplace(param.expand_param(), mean_values_);
  if (expansion_ && expansion_->is_nothing()) expansion_.reset();
  random_size_ = RandomSize::of(param, crop_height_, crop_width_);
  if (param.resize_param_size() > 1)
    unsupported("transform_param.resize_param", "a draw from several ways to resize is not done by this build");
  if (param.resize_param_size() == 1) resize_.emplace(param.resize_param(0), kResizePath);
  scaled_crop_ = ScaledCrop::of(param, crop_height_, crop_width_);
  if (!training_) scaled_crop_.reset();
  if (param.has_noise_param()) noise_.emplace(param.noise_param());
  if (param.has_emit_constraint()) rule_ = BoxRule(param.emit_constraint());

  sizes_vary_ = expansion_ || random_size_ || takes_patches || (resize_ && resize_->may_not_apply());
  const bool one_size = resize_ && resize_->has_one_size();
  if (sizes_vary_ && !one_size && !crops()) {
    refuse_setting(expansion_ ? "transform_param.expand_param" : "transform_param.resize_param",
                   "images would come out in sizes that are drawn, which make no batch",
                   "set a resize_param with a height, a width and no prob, or crop_size");
  }
  if (mean_image_.empty() || !(expansion_ || (sizes_vary_ && !one_size))) return;
  refuse_setting("transform_param.mean_file", "images of sizes that are drawn have no place in a mean image",
                 "give mean_value");
}

void Transformer::check_mean(const Extent& item) const {
  if (!mean_image_.empty() && mean_extent_ != item) {
    throw Error(ErrorKind::kData, str("the mean image is ", mean_extent_.str(), ", the item ", item.str()),
                "make the mean from this database with compute_image_mean, or use mean_value");
  }
  const auto values = static_cast<int64_t>(mean_values_.size());
  if (values > 1 && values != item.channels) {
    throw Error(ErrorKind::kData,
                str("there are ", values, " values of mean_value, the item has ", item.channels, " channels"),
                "give one mean_value, or one per channel");
  }
}

/// The size before the crop; nothing where it is drawn.
std::optional<Extent> Transformer::whole_extent(const Extent& item) const {
  if (resize_ && resize_->has_one_size()) return resize_->output(item);
  if (sizes_vary_) return std::nullopt;
  return resize_ ? resize_->output(item) : item;
}

void Transformer::check_crop(const Extent& whole) const {
  if (!crops() || (whole.height >= crop_height_ && whole.width >= crop_width_)) return;
  throw Error(ErrorKind::kData,
              str("the item is ", whole.str(), ", smaller than the crop of ", crop_height_, "x", crop_width_),
              "lower the crop size, or write the database with larger images");
}

Extent Transformer::output(const Extent& item) const {
  const std::optional<Extent> whole = whole_extent(item);
  if (!whole) return window_of(item);
  check_mean(*whole);
  check_crop(*whole);
  return window_of(*whole);
}

Extent Transformer::wanted_size(const Extent& image) const {
  const bool at_once = resize_ && !sizes_vary_ && !distortion_;
  return at_once ? resize_->wanted_size(image) : image;
}

/// What of an item of this size is taken.
Extent Transformer::window_of(const Extent& item) const {
  return crops() ? Extent{item.channels, crop_height_, crop_width_} : item;
}

/// The mean of a pixel is that of its place in the whole item as it is stored, as in Caffe: so rows are cut from the
/// mean image, too, and mirrored only when it has been subtracted.
template <typename T>
void Transformer::write(const T* pixels, const Extent& extent, const PixelWindow& window, float* out) const {
  const Extent taken = window_of(extent);
  for (int64_t c = 0; c < extent.channels; ++c) {
    const float mean = mean_values_.empty() ? 0 : mean_values_[mean_values_.size() > 1 ? static_cast<size_t>(c) : 0];
    for (int64_t y = 0; y < taken.height; ++y, out += taken.width) {
      const int64_t at = (c * extent.height + window.top + y) * extent.width + window.left;
      if (mean_image_.empty())
        write_row(pixels + at, taken.width, mean, scale_, out);
      else
        write_row(pixels + at, taken.width, mean_image_.data() + at, scale_, out);
      if (window.mirror) std::reverse(out, out + taken.width);
    }
  }
}

void Transformer::run(const Pixels& item, uint64_t key, uint64_t position, TransformMemory& memory, float* out,
                      Annotations* annotations) const {
  const Drawn drawn = draw(item.image(), key, position, annotations);
  if (!item.floats) return write(bytes_of(item, drawn, key, position, memory), drawn.whole, drawn.window, out);
  if (!drawn.steps.empty() || distortion_ || noise_ || is_flow_) {
    const char* field = distortion_            ? "distort_param"
                        : scaled_crop_         ? "fix_crop"
                        : !drawn.steps.empty() ? "resize_param"
                        : noise_               ? "noise_param"
                                               : "is_flow";
    unsupported(std::string("transform_param.") + field, "float data can be cropped and mirrored alone in this build");
  }
  write(item.floats, drawn.whole, drawn.window, out);
}

/// The item's pixels before the crop.
const uint8_t* Transformer::bytes_of(const Pixels& item, const Drawn& drawn, uint64_t key, uint64_t position,
                                     TransformMemory& memory) const {
  Pixels at = item;
  if (distortion_) {
    PhiloxStream draws = draws_of(key, position, DrawnFor::kDistortion);
    distortion_->apply(copied(at, memory.front), draws);
    at = memory.front.pixels();
  }
  // A step cannot write over what it reads: its result lies behind, then both are exchanged.
  for (const ImageStep& step : drawn.steps) {
    take_step(step, at, memory.inner, memory.back);
    std::swap(memory.front, memory.back);
    at = memory.front.pixels();
  }
  if (noise_) {
    PhiloxStream draws = draws_of(key, position, DrawnFor::kNoise);
    noise_->apply(copied(at, memory.front), draws);
    at = memory.front.pixels();
  }
  if (is_flow_ && drawn.window.mirror) {
    turn_flow(copied(at, memory.front));
    at = memory.front.pixels();
  }
  return at.bytes;
}

PixelWindow Transformer::cut(const Pixels& item, uint64_t key, uint64_t position, TransformMemory& memory, uint8_t* out,
                             Annotations* annotations) const {
  const Drawn drawn = draw(item.image(), key, position, annotations);
  const Extent &whole = drawn.whole, taken = window_of(whole);
  const uint8_t* bytes = bytes_of(item, drawn, key, position, memory);
  for (int64_t c = 0; c < whole.channels; ++c) {
    for (int64_t y = 0; y < taken.height; ++y, out += taken.width) {
      const int64_t at = (c * whole.height + drawn.window.top + y) * whole.width + drawn.window.left;
      std::copy_n(bytes + at, taken.width, out);
    }
  }
  return drawn.window;
}

PixelForm Transformer::form() const {
  // Without any mean there is one of 0, so that whoever subtracts need not ask.
  if (!mean_image_.empty()) return {scale_, mean_image_, mean_extent_};
  return {scale_, mean_values_.empty() ? std::vector<float>{0} : mean_values_, {}};
}

}  // namespace robusta
