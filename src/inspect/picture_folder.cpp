// Files are made relative to the open folder, and only where nothing stands: neither links nor files are followed.

#include "inspect/picture_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "base/atomic_file.h"
#include "base/output_place.h"
#include "base/str.h"
#include "data/image.h"
#include "robusta/error.h"

namespace robusta {
namespace {

uint8_t byte_of(float value) {
  return static_cast<uint8_t>(std::isfinite(value) ? std::lround(std::clamp(value, 0.0f, 255.0f)) : 0);
}

/// `count` channels from `first` on.
Image channels_of(const Pixels& pixels, int64_t first, int64_t count) {
  Image image;
  image.reset({count, pixels.extent.height, pixels.extent.width});
  const int64_t plane = pixels.extent.height * pixels.extent.width, begin = first * plane;
  for (int64_t i = 0; i < count * plane; ++i) {
    image.planes[static_cast<size_t>(i)] = pixels.bytes ? pixels.bytes[begin + i] : byte_of(pixels.floats[begin + i]);
  }
  return image;
}

}  // namespace

PictureFolder::PictureFolder(const std::string& folder) : folder_(folder) {
  if (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) fail_output("cannot make the folder", folder, errno);
  descriptor_ = Descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!descriptor_.is_open()) fail_output("cannot write pictures into", folder, errno);
}

void PictureFolder::write_file(const std::string& name, const std::string& bytes) {
  const Descriptor file(
      ::openat(descriptor_.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!file.is_open() && errno == EEXIST) {
    throw Error(ErrorKind::kOutput, str(folder_, "/", name, " exists already"), "name another folder with -png");
  }
  if (!file.is_open()) fail_output("cannot write", folder_ + "/" + name, errno);
  write_all(file.get(), bytes.data(), bytes.size());
  ++written_;
}

void PictureFolder::write(const std::string& stem, const Pixels& pixels) {
  constexpr int64_t kMostChannels = 16;
  const int64_t channels = pixels.extent.channels;
  if (pixels.extent.height > kMostPixels / std::max<int64_t>(pixels.extent.width, 1)) {
    throw Error(ErrorKind::kData, str(stem, " is ", pixels.extent.str(), ", too large for a picture"), "");
  }
  if (channels == 1 || channels == 3 || channels == 4)
    return write_file(stem + ".png", encode_image(channels_of(pixels, 0, channels), ImageFormat::kPng));
  for (int64_t c = 0; c < std::min(channels, kMostChannels); ++c)
    write_file(str(stem, "_c", c, ".png"), encode_image(channels_of(pixels, c, 1), ImageFormat::kPng));
}

}  // namespace robusta
