// Settings are checked once, draws are pure functions of the position, and rows are written with one loop per kind of
// mean.

#include "data/transformer.h"

#include <algorithm>
#include <set>
#include <string>

#include "base/philox.h"
#include "base/simd.h"
#include "base/str.h"
#include "data/image.h"
#include "robusta/error.h"
#include "schema/blob_proto.h"

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
                                            "crop_h",
                                            "crop_w",
                                            "display",
                                            "random_seed",
                                            "num_labels",
                                            "use_gpu_transform",
                                            "allow_upscale",
                                            "interpolation_algo_down",
                                            "interpolation_algo_up"};
  return fields;
}

const std::set<std::string>& known_resize_fields() {
  static const std::set<std::string> fields{"prob", "resize_mode", "height", "width", "interp_mode"};
  return fields;
}

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

/// Uniform in 0..n-1 from one word.
int64_t draw_below(uint32_t word, int64_t n) {
  return static_cast<int64_t>((uint64_t{word} * static_cast<uint64_t>(n)) >> 32);
}

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

}  // namespace

Transformer::Transformer(const TransformationParameter& param, bool training)
    : training_(training),
      mirror_(param.mirror()),
      scale_(param.scale()),
      own_seed_(param.random_seed()),
      color_mode_(color_mode_of(param)) {
  refuse_unknown(param, known_fields(), "transform_param.");
  read_crop(param);
  read_resize(param);
  read_mean(param);
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

void Transformer::read_resize(const TransformationParameter& param) {
  if (param.resize_param_size() == 0) return;
  if (param.resize_param_size() > 1)
    unsupported("transform_param.resize_param", "a draw from several ways to resize is not done by this build");
  const caffe::ResizeParameter& resize = param.resize_param(0);
  const std::string path = "transform_param.resize_param.";
  refuse_unknown(resize, known_resize_fields(), path);
  if (resize.resize_mode() != caffe::ResizeParameter::WARP)
    unsupported(path + "resize_mode", "of the modes of resizing only WARP is done by this build");
  if (resize.prob() != 1) unsupported(path + "prob", "resizing only now and then is not done by this build");
  for (int mode : resize.interp_mode()) {
    if (mode != caffe::ResizeParameter::LINEAR)
      unsupported(path + "interp_mode", "of the ways to interpolate only LINEAR is done by this build");
  }
  if (resize.height() == 0 || resize.width() == 0) {
    throw Error(ErrorKind::kConfig, "resizing needs a height and a width", "set both")
        .in_field(path + (resize.height() ? "width" : "height"));
  }
  if (resize.height() > kMostPixels / resize.width()) {
    throw Error(ErrorKind::kConfig,
                str("images of ", resize.height(), " x ", resize.width(), " pixels; at most ", kMostPixels),
                "make them smaller")
        .in_field(path + "height");
  }
  resize_height_ = resize.height();
  resize_width_ = resize.width();
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

Extent Transformer::resized_extent(const Extent& item) const {
  return resizes() ? Extent{item.channels, resize_height_, resize_width_} : item;
}

Extent Transformer::output(const Extent& item) const {
  const Extent whole = resized_extent(item);
  check_mean(whole);
  if (!crops()) return whole;
  if (whole.height < crop_height_ || whole.width < crop_width_) {
    throw Error(ErrorKind::kData,
                str("the item is ", whole.str(), ", smaller than the crop of ", crop_height_, "x", crop_width_),
                "lower the crop size, or write the database with larger images");
  }
  return {whole.channels, crop_height_, crop_width_};
}

/// What of an item of this size is taken.
Extent Transformer::window_of(const Extent& item) const {
  return crops() ? Extent{item.channels, crop_height_, crop_width_} : item;
}

PixelWindow Transformer::draw(const Extent& item, uint64_t key, uint64_t position) const {
  PixelWindow window;
  const bool random_crop = crops() && training_;
  const PhiloxBlock words = mirror_ || random_crop ? philox(key, position, 0) : PhiloxBlock{};
  window.mirror = mirror_ && (words[0] & 1);
  const Extent taken = window_of(item);
  const int64_t room_below = item.height - taken.height, room_right = item.width - taken.width;
  window.top = static_cast<int32_t>(random_crop ? draw_below(words[1], room_below + 1) : room_below / 2);
  window.left = static_cast<int32_t>(random_crop ? draw_below(words[2], room_right + 1) : room_right / 2);
  return window;
}

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

void Transformer::run(const Pixels& item, uint64_t key, uint64_t position, Image& resized, float* out) const {
  const Extent whole = resized_extent(item.extent);
  output(item.extent);
  const PixelWindow window = draw(whole, key, position);
  if (item.floats) {
    if (whole != item.extent)
      unsupported("transform_param.resize_param", "resizing of float data is not done by this build");
    return write(item.floats, whole, window, out);
  }
  write(bytes_of(item, resized), whole, window, out);
}

/// The item's pixels in their final size.
const uint8_t* Transformer::bytes_of(const Pixels& item, Image& resized) const {
  if (resized_extent(item.extent) == item.extent) return item.bytes;
  resize_bilinear(item, resize_height_, resize_width_, resized);
  return resized.planes.data();
}

PixelWindow Transformer::cut(const Pixels& item, uint64_t key, uint64_t position, Image& resized, uint8_t* out) const {
  const Extent whole = resized_extent(item.extent);
  output(item.extent);
  const PixelWindow window = draw(whole, key, position);
  const Extent taken = window_of(whole);
  const uint8_t* bytes = bytes_of(item, resized);
  for (int64_t c = 0; c < whole.channels; ++c) {
    for (int64_t y = 0; y < taken.height; ++y, out += taken.width) {
      const int64_t at = (c * whole.height + window.top + y) * whole.width + window.left;
      std::copy_n(bytes + at, taken.width, out);
    }
  }
  return window;
}

PixelForm Transformer::form() const {
  if (!mean_image_.empty()) return {scale_, mean_image_, mean_extent_};
  return {scale_, mean_values_.empty() ? std::vector<float>{0} : mean_values_, {}};
}

}  // namespace robusta
