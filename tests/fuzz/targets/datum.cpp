// Records of databases: a Datum, plain or with boxes, and its pixels.

#include "data/annotated_datum.h"
#include "data/datum.h"
#include "fuzz.h"

namespace robusta::fuzz {
namespace {

void decode(std::string_view record) {
  std::vector<float> floats;
  const DatumView datum = parse_datum(record, floats);
  for (const ColorMode mode : {ColorMode::kAsStored, ColorMode::kGray, ColorMode::kColor}) {
    reads([&] { datum_extent(datum, mode, floats.size()); });
    reads([&] {
      DecodeBuffers buffers;
      buffers.floats = floats;
      decode_datum(datum, mode, buffers);
    });
  }
}

void read_record(std::string_view input) {
  reads([&] { decode(input); });
  reads([&] { decode(parse_annotated_datum(input).datum); });
}

[[maybe_unused]] const bool registered_datum = register_target("datum", read_record);

}  // namespace
}  // namespace robusta::fuzz
