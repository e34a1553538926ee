// Guesses in the order of how sure they are: crop, resize, channels of means and colours, the name of the source.

#include "layers/kit/assumed_extent.h"

#include <algorithm>
#include <cctype>

namespace robusta {
namespace {

AssumedExtent guess_from(std::string source) {
  std::transform(source.begin(), source.end(), source.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const char* word : {"mnist", "digits", "lenet"}) {
    if (source.find(word) != std::string::npos)
      return {{1, 28, 28}, std::string("the size of MNIST, as the source says ") + word};
  }
  if (source.find("cifar") != std::string::npos) return {{3, 32, 32}, "the size of CIFAR, as the source says cifar"};
  return {{3, 224, 224}, "the usual size for ImageNet, as nothing says otherwise"};
}

}  // namespace

AssumedExtent assumed_extent(const std::string& source, const caffe::TransformationParameter& transform) {
  AssumedExtent assumed = guess_from(source);
  auto size_by = [&](int64_t height, int64_t width, const std::string& reason) {
    assumed.extent.height = height;
    assumed.extent.width = width;
    assumed.reason = reason;
  };
  if (transform.crop_size() > 0)
    size_by(transform.crop_size(), transform.crop_size(), "the size of the crop");
  else if (transform.crop_h() > 0)
    size_by(transform.crop_h(), transform.crop_w(), "the size of the crop");
  else if (transform.resize_param_size() > 0 && transform.resize_param(0).height() > 0)
    size_by(transform.resize_param(0).height(), transform.resize_param(0).width(), "the size of the resize");
  if (transform.mean_value_size() > 1) assumed.extent.channels = transform.mean_value_size();
  if (transform.force_color()) assumed.extent.channels = 3;
  if (transform.force_gray()) assumed.extent.channels = 1;
  return assumed;
}

AssumedItem assumed_image(const std::string& source, const caffe::TransformationParameter& transform) {
  const auto [extent, reason] = assumed_extent(source, transform);
  const bool resized = transform.resize_param_size() > 0 && transform.resize_param(0).height() > 0;
  return {.shape = {extent.channels, extent.height, extent.width},
          .reason = reason,
          .channels_known = transform.mean_value_size() > 1 || transform.force_color() || transform.force_gray(),
          .size_known = transform.crop_size() > 0 || transform.crop_h() > 0 || resized};
}

}  // namespace robusta
