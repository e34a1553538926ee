// Pictures and means for programs: what the layers use themselves, as floats.

#include "robusta/image.h"

#include <algorithm>

#include "base/str.h"
#include "data/image.h"
#include "data/image_files.h"
#include "schema/mean_file.h"

namespace robusta::v1 {
namespace {

void require_possible(int channels, int64_t height, int64_t width) {
  if (channels != 1 && channels != 3)
    throw Error(ErrorKind::kUsage, str("a picture with ", channels, " channels is wanted"),
                "say 3 (colour) or 1 (grey)");
  if (height == 0 && width == 0) return;
  if (height <= 0 || width <= 0 || height > kMostPixels / width) {
    throw Error(ErrorKind::kUsage, str("a picture of ", width, " x ", height, " pixels is wanted"),
                str("give both sizes, of at most ", kMostPixels, " pixels together, or none"));
  }
}

Image decoded(std::string_view file, int channels, int64_t height, int64_t width) {
  robusta::Image image;
  robusta::decode_image(file, channels == 3 ? ColorMode::kColor : ColorMode::kGray, image);
  if (height > 0 && (image.extent.height != height || image.extent.width != width)) {
    robusta::Image resized;
    resize_bilinear(image.pixels(), height, width, resized);
    std::swap(image, resized);
  }
  return {{image.extent.channels, image.extent.height, image.extent.width}, {image.planes.begin(), image.planes.end()}};
}

}  // namespace

Image load_image(const std::string& path, int channels, int64_t height, int64_t width) {
  require_possible(channels, height, width);
  std::string file;
  read_image_file(path, file);
  try {
    return decoded(file, channels, height, width);
  } catch (Error& error) {
    throw error.at(path);
  }
}

Image decode_image(std::span<const std::byte> file, int channels, int64_t height, int64_t width) {
  require_possible(channels, height, width);
  return decoded({reinterpret_cast<const char*>(file.data()), file.size()}, channels, height, width);
}

Image load_mean(const std::string& path) {
  BlobData mean = read_mean_file(path);
  return {std::move(mean.shape), std::move(mean.data)};
}

std::vector<float> channel_means(const Image& image) {
  const auto most = static_cast<int64_t>(image.numbers.size());
  const bool sound = image.shape.size() == 3 && std::ranges::all_of(image.shape, [=](int64_t extent) {
                       return extent > 0 && extent <= most;  // so that the product of two does not overflow
                     });
  if (!sound || image.shape[1] > most / image.shape[2] || most % (image.shape[1] * image.shape[2]) != 0 ||
      most / (image.shape[1] * image.shape[2]) != image.shape[0])
    throw Error(ErrorKind::kUsage, "the shape of an image does not fit its numbers", "give {channels, height, width}");
  std::vector<float> means;
  const auto plane = static_cast<size_t>(image.shape[1] * image.shape[2]);
  for (size_t begin = 0; begin < image.numbers.size(); begin += plane) {
    double sum = 0;
    for (size_t i = 0; i < plane; ++i) sum += static_cast<double>(image.numbers[begin + i]);
    means.push_back(static_cast<float>(sum / static_cast<double>(plane)));
  }
  return means;
}

}  // namespace robusta::v1
