// One Datum to one sample: parse, decode, transform into the batch's memory.

#include "data/datum_filler.h"

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
  return writer_.shapes(datum_extent(datum, color_mode(), buffers.floats.size()));
}

void DatumFiller::fill(std::string_view record, const Sample& sample, Batch& batch) const {
  DecodeBuffers& buffers = decode_buffers();
  const DatumView datum = parse_datum(record, buffers.floats);
  writer_.write(decode_datum(datum, color_mode(), buffers, writer_.wanted_pixels(sample)), datum.label, sample, batch);
}

std::optional<PixelForm> DatumFiller::pixel_form(std::string_view record) const {
  if (parse_datum(record, decode_buffers().floats).data.empty()) return std::nullopt;
  return writer_.transformer().form();
}

int DatumFiller::label(std::string_view record, int64_t) const {
  return parse_datum(record, decode_buffers().floats).label;
}

}  // namespace robusta
