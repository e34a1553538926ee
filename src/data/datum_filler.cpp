// One Datum to one sample: parse, decode, transform into the batch's memory.

#include "data/datum_filler.h"

#include "base/philox.h"
#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

/// Of the thread that fills.
DecodeBuffers& decode_buffers() {
  thread_local DecodeBuffers buffers;
  return buffers;
}

}  // namespace

std::vector<Shape> DatumFiller::item_shapes(std::string_view record, int64_t) const {
  DecodeBuffers& buffers = decode_buffers();
  const DatumView datum = parse_datum(record, buffers.floats);
  const Extent item = transformer_.output(datum_extent(datum, transformer_.color_mode(), buffers.floats.size()));
  std::vector<Shape> shapes{{item.channels, item.height, item.width}};
  if (labels_) shapes.emplace_back();
  return shapes;
}

void DatumFiller::fill(std::string_view record, const Sample& sample, Batch& batch) const {
  DecodeBuffers& buffers = decode_buffers();
  const DatumView datum = parse_datum(record, buffers.floats);
  const Pixels item = decode_datum(datum, transformer_.color_mode(), buffers);
  const Extent out = transformer_.output(item.extent);
  const Shape& shape = batch.layout.tops()[0];
  const Extent wanted{shape[1], shape[2], shape[3]};
  if (out != wanted) {
    throw Error(ErrorKind::kData, str("it is ", out.str(), ", the first item of its batch is ", wanted.str()),
                "set crop_size, resize the images when the database is written, or take batch_size 1");
  }
  write(item, wanted, sample, batch);
  if (labels_) batch.numbers(1)[sample.place] = static_cast<float>(datum.label);
}

void DatumFiller::write(const Pixels& item, const Extent& wanted, const Sample& sample, Batch& batch) const {
  const uint64_t key = random_key(transformer_.seed_or(sample.seed), layer_, "transform");
  Image& resized = decode_buffers().resized;
  const int64_t at = sample.place * wanted.count();
  if (!batch.layout.pixels()) return transformer_.run(item, key, sample.position, resized, batch.numbers(0) + at);
  if (item.floats) {
    throw Error(ErrorKind::kData, "it holds floats, record 0 holds bytes",
                "write records of one kind, or train without -gpu");
  }
  batch.windows()[sample.place] = transformer_.cut(item, key, sample.position, resized, batch.pixel_bytes() + at);
}

std::optional<PixelForm> DatumFiller::pixel_form(std::string_view record) const {
  if (parse_datum(record, decode_buffers().floats).data.empty()) return std::nullopt;
  return transformer_.form();
}

int DatumFiller::label(std::string_view record, int64_t) const {
  return parse_datum(record, decode_buffers().floats).label;
}

}  // namespace robusta
