// Pictures and means for programs in C.

#include "robusta/image.h"

#include <algorithm>

#include "api/c/handles.h"

using robusta::v1::guarded;
using robusta::v1::required;

namespace {

/// Throws Error{kUsage} unless the caller has room for exactly these.
void hand_out(const std::vector<float>& from, float* to, size_t count) {
  if (from.size() != count) {
    throw robusta::Error(robusta::ErrorKind::kUsage,
                         "there are " + std::to_string(from.size()) + " numbers, not " + std::to_string(count),
                         "give room for so many");
  }
  std::ranges::copy(from, required(to, "numbers"));
}

}  // namespace

int robusta_load_image(const char* path, int channels, int64_t height, int64_t width, float* numbers, size_t count) {
  return guarded([&] {
    hand_out(robusta::v1::load_image(required(path, "path"), channels, height, width).numbers, numbers, count);
  });
}

int robusta_load_channel_means(const char* path, float* means, size_t channels) {
  return guarded(
      [&] { hand_out(robusta::v1::channel_means(robusta::v1::load_mean(required(path, "path"))), means, channels); });
}
