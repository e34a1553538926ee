// Of either kind a mean's size is looked at before it is read.

#include "schema/mean_file.h"

#include <unistd.h>

#include "base/input_file.h"
#include "base/limit.h"
#include "base/str.h"
#include "schema/npy_file.h"

namespace robusta {
namespace {

/// Before it is read: a parsed message is several times as large as the numbers in it.
void require_possible_mean(const std::string& path) {
  const int64_t most = limit_from("ROBUSTA_MEAN_VALUES", int64_t{1} << 25);
  constexpr int64_t kRest = 1 << 16;
  const auto bytes = static_cast<int64_t>(open_input_file(path, ErrorKind::kData).info.st_size);
  if ((bytes - kRest) / static_cast<int64_t>(sizeof(float)) <= most) return;
  throw Error(ErrorKind::kData, str("a mean image of ", bytes >> 20, " MiB is not read: at most ", most, " values are"),
              "make one of smaller images, or set ROBUSTA_MEAN_VALUES to allow more")
      .at(path);
}

/// Of either kind, told by how it begins.
BlobData read_either_mean(const std::string& path) {
  char begin[8] = {};
  const InputFile file = open_input_file(path, ErrorKind::kData);
  const ssize_t got = ::pread(file.descriptor.get(), begin, sizeof begin, 0);
  if (got < 0 || !is_npy({begin, static_cast<size_t>(got)})) return read_array_file(path, "mean image");
  try {
    return parse_npy(read_input_file(path, ErrorKind::kData));
  } catch (const Error& error) {
    throw Error(ErrorKind::kData, str("this is no mean image: ", error.cause()), error.fix()).at(path);
  }
}

}  // namespace

BlobData read_mean_file(const std::string& path) {
  require_possible_mean(path);
  BlobData mean = read_either_mean(path);
  // Of clips: all frames of a channel and then those of the next.
  if (mean.shape.size() == 5 && mean.shape[0] == 1)
    mean.shape = {1, mean.shape[1] * mean.shape[2], mean.shape[3], mean.shape[4]};
  if (mean.shape.size() == 4 && mean.shape[0] == 1) mean.shape.erase(mean.shape.begin());
  if (mean.shape.size() != 3)
    throw Error(ErrorKind::kData, "a mean image has channels, height and width", "make one with compute_image_mean")
        .at(path);
  mean.legacy_dims = false;
  return mean;
}

}  // namespace robusta
