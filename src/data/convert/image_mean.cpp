// Records are decoded by all threads in blocks, and summed in order: the mean does not depend on their number.

#include "data/convert/image_mean.h"

#include <algorithm>
#include <optional>

#include "base/parallel.h"
#include "base/str.h"
#include "data/convert/progress.h"
#include "data/datum.h"
#include "data/error_of.h"
#include "robusta/error.h"
#include "schema/blob_proto.h"

namespace robusta {
namespace {

/// One record on its way: decoded on any thread, added in order.
struct Slot {
  DecodeBuffers buffers;
  std::string storage;
  Pixels pixels;
  std::optional<Error> error;
};

void decode(const RecordReader& reader, int64_t index, Slot& slot) {
  const auto error = error_of(
      [&] {
        const DatumView datum = parse_datum(reader.record(index, slot.storage), slot.buffers.floats);
        slot.pixels = decode_datum(datum, ColorMode::kAsStored, slot.buffers);
      },
      "write the database with --resize_height and --resize_width");
  slot.error.reset();
  if (error)
    slot.error.emplace(error->kind(), "record " + record_name(reader, index) + ": " + error->cause(), error->fix());
}

void check(const RecordReader& reader, int64_t index, const Slot& slot, const Extent& extent) {
  if (slot.error) throw *slot.error;
  if (slot.pixels.extent == extent) return;
  throw Error(
      ErrorKind::kData,
      str("record ", record_name(reader, index), " is ", slot.pixels.extent.str(), ", the first one ", extent.str()),
      "write the database with --resize_height and --resize_width");
}

void add(const Pixels& pixels, std::vector<double>& sums) {
  constexpr int64_t kGrain = 1 << 14;
  double* to = sums.data();
  parallel_for(pixels.extent.count(), kGrain, [&pixels, to](int64_t i) {
    to[i] += pixels.bytes ? static_cast<double>(pixels.bytes[i]) : static_cast<double>(pixels.floats[i]);
  });
}

}  // namespace

ImageMean image_mean(const RecordReader& reader) {
  constexpr int64_t kBlock = 64;
  std::vector<Slot> block(kBlock);
  decode(reader, 0, block[0]);
  const bool image_files = block[0].pixels.bytes && block[0].pixels.bytes == block[0].buffers.image.planes.data();
  const int64_t grain = image_files ? 1 : kBlock;  // raw records are not worth a thread
  std::vector<double> sums;
  ImageMean mean;
  ConversionProgress progress(reader.size());
  for (int64_t start = 0; start < reader.size(); start += kBlock) {
    const int64_t count = std::min(kBlock, reader.size() - start);
    parallel_for(count, grain, [&](int64_t i) { decode(reader, start + i, block[static_cast<size_t>(i)]); });
    for (int64_t i = 0; i < count; ++i) {
      const Slot& slot = block[static_cast<size_t>(i)];
      if (start + i == 0 && !slot.error) {
        mean.extent = slot.pixels.extent;
        sums.assign(static_cast<size_t>(mean.extent.count()), 0);
      }
      check(reader, start + i, slot, mean.extent);
      add(slot.pixels, sums);
      progress.show(start + i + 1);
    }
  }
  const auto records = static_cast<double>(reader.size());
  for (double sum : sums) mean.values.push_back(static_cast<float>(sum / records));
  const auto plane = static_cast<size_t>(mean.extent.height * mean.extent.width);
  for (size_t at = 0; at < sums.size(); at += plane) {
    double total = 0;
    for (size_t i = at; i < at + plane; ++i) total += sums[i];
    mean.channel_values.push_back(static_cast<float>(total / records / static_cast<double>(plane)));
  }
  return mean;
}

/// With the old fields num, channels, height and width and without a shape, as BVLC's compute_image_mean writes it:
/// some readers of means know nothing else.
void write_image_mean(const ImageMean& mean, const std::string& path) {
  caffe::BlobProto blob;
  blob.set_num(1);
  blob.set_channels(static_cast<int32_t>(mean.extent.channels));
  blob.set_height(static_cast<int32_t>(mean.extent.height));
  blob.set_width(static_cast<int32_t>(mean.extent.width));
  blob.mutable_data()->Assign(mean.values.begin(), mean.values.end());
  write_binary_proto(path, blob);
}

}  // namespace robusta
