// The wire format of caffe.Datum, walked without protobuf's own object: the bytes of an image are not copied.
//
// The fields (proto/caffe.proto): channels 1, height 2, width 3 and label 5, varints; data 4, the bytes of pixels,
// plane after plane, or of an image file where encoded 7 is true; float_data 6, which Caffe writes as single floats and
// not packed. Readers of protobuf have to take both forms.

#include "data/datum.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <bit>

#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

constexpr char kFix[] = "write the database anew";

enum Field { kChannels = 1, kHeight = 2, kWidth = 3, kData = 4, kLabel = 5, kFloatData = 6, kEncoded = 7 };

/// A walk over the wire format. Later values of a field win and unknown fields are skipped, as protobuf does.
class DatumParser {
 public:
  DatumParser(std::string_view record, std::vector<float>& floats)
      : record_(record),
        in_(reinterpret_cast<const uint8_t*>(record.data()), static_cast<int>(record.size())),
        floats_(floats) {
    in_.PushLimit(static_cast<int>(record.size()));
  }

  bool parse() {
    while (const uint32_t tag = in_.ReadTag()) {
      if (!read_field(tag)) return false;
    }
    return in_.ConsumedEntireMessage();
  }
  const DatumView& datum() const { return datum_; }

 private:
  bool read_field(uint32_t tag) {
    const auto type = WireFormatLite::GetTagWireType(tag);
    const int field = WireFormatLite::GetTagFieldNumber(tag);
    if (type == WireFormatLite::WIRETYPE_VARINT) {
      switch (field) {
        case kChannels:
          return read_int(datum_.channels);
        case kHeight:
          return read_int(datum_.height);
        case kWidth:
          return read_int(datum_.width);
        case kLabel:
          return read_int(datum_.label);
        case kEncoded:
          return read_bool(datum_.encoded);
      }
    }
    if (type == WireFormatLite::WIRETYPE_LENGTH_DELIMITED && field == kData) return read_bytes(datum_.data);
    if (type == WireFormatLite::WIRETYPE_LENGTH_DELIMITED && field == kFloatData) return read_packed_floats();
    if (type == WireFormatLite::WIRETYPE_FIXED32 && field == kFloatData) return read_float();
    return WireFormatLite::SkipField(&in_, tag);
  }

  bool read_int(int32_t& value) {
    uint64_t word;
    if (!in_.ReadVarint64(&word)) return false;
    value = static_cast<int32_t>(static_cast<uint32_t>(word));
    return true;
  }

  bool read_bool(bool& value) {
    uint64_t word;
    if (!in_.ReadVarint64(&word)) return false;
    value = word != 0;
    return true;
  }

  bool read_bytes(std::string_view& value) {
    uint32_t length;
    if (!in_.ReadVarint32(&length) || length > static_cast<uint32_t>(in_.BytesUntilLimit())) return false;
    value = record_.substr(static_cast<size_t>(in_.CurrentPosition()), length);
    return in_.Skip(static_cast<int>(length));
  }

  bool read_float() {
    uint32_t word;
    if (!in_.ReadLittleEndian32(&word)) return false;
    floats_.push_back(std::bit_cast<float>(word));
    return true;
  }

  bool read_packed_floats() {
    uint32_t length;
    if (!in_.ReadVarint32(&length) || length % sizeof(float) != 0) return false;
    for (uint32_t i = 0; i < length / sizeof(float); ++i) {
      if (!read_float()) return false;
    }
    return true;
  }

  std::string_view record_;
  CodedInputStream in_;
  std::vector<float>& floats_;
  DatumView datum_;
};

/// The extent that the record states, which must hold exactly `count` values: that also bounds it.
Extent stated_extent(const DatumView& datum, size_t count, const char* what) {
  const Extent extent{datum.channels, datum.height, datum.width};
  if (datum.channels <= 0 || datum.height <= 0 || datum.width <= 0) {
    throw Error(ErrorKind::kData, str("the size of the record is impossible: ", extent.str()), kFix);
  }
  int64_t rows = 0, values = 0;
  const bool too_large = __builtin_mul_overflow(extent.channels, extent.height, &rows) ||
                         __builtin_mul_overflow(rows, extent.width, &values);
  if (too_large || static_cast<uint64_t>(values) != count) {
    throw Error(ErrorKind::kData, str("the record holds ", count, " ", what, ", but says that it is ", extent.str()),
                kFix);
  }
  return extent;
}

}  // namespace

DatumView parse_datum(std::string_view record, std::vector<float>& floats) {
  // CodedInputStream counts in int.
  constexpr size_t kMostBytes = 0x7fffffff;
  floats.clear();
  if (record.size() > kMostBytes) throw Error(ErrorKind::kData, "the record is larger than 2 GiB", kFix);
  DatumParser parser(record, floats);
  if (!parser.parse()) {
    throw Error(ErrorKind::kData, str("the record (", record.size(), " bytes) is no Datum, or is damaged"), kFix);
  }
  return parser.datum();
}

Extent datum_extent(const DatumView& datum, ColorMode mode, size_t float_count) {
  if (datum.encoded) return image_extent(datum.data, mode);
  return datum.data.empty() ? stated_extent(datum, float_count, "floats")
                            : stated_extent(datum, datum.data.size(), "bytes");
}

Pixels decode_datum(const DatumView& datum, ColorMode mode, DecodeBuffers& buffers, const WantedPixels& wanted) {
  if (datum.encoded) {
    decode_image(datum.data, mode, wanted, buffers.image);
    return buffers.image.pixels();
  }
  const Extent extent = datum_extent(datum, mode, buffers.floats.size());
  if (datum.data.empty()) return {extent, nullptr, buffers.floats.data()};
  return {extent, reinterpret_cast<const uint8_t*>(datum.data.data()), nullptr};
}

}  // namespace robusta
