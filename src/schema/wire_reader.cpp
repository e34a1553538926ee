// The encoding is that of Protocol Buffers' documentation: a key of field number and wire type, then a varint, a fixed
// or a length-delimited content.

#include "schema/wire_reader.h"

#include <bit>

#include <google/protobuf/wire_format_lite.h>

#include "base/str.h"

namespace robusta {

WireReader::WireReader(const BinaryFile& file) : stream_(file.fd()), coded_(&stream_), size_(file.size()) {
  coded_.PushLimit(size_);
}

void WireReader::damaged() const {
  throw Error(ErrorKind::kModel, str("the file is cut or damaged at byte ", coded_.CurrentPosition(), " of ", size_),
              "copy or download it again");
}

void WireReader::fields(const OnField& on_field) {
  while (const uint32_t tag = coded_.ReadTag())
    if (!on_field(static_cast<int>(tag >> 3), static_cast<int>(tag & 7))) skip(tag);
  if (coded_.BytesUntilLimit() != 0 || !coded_.ConsumedEntireMessage()) damaged();
}

void WireReader::message(const OnField& on_field) {
  const auto limit = coded_.PushLimit(length());
  fields(on_field);
  coded_.PopLimit(limit);
}

int WireReader::length() {
  uint32_t bytes = 0;
  if (!coded_.ReadVarint32(&bytes) || bytes > static_cast<uint32_t>(coded_.BytesUntilLimit())) damaged();
  return static_cast<int>(bytes);
}

std::string WireReader::text() {
  std::string value;
  if (!coded_.ReadString(&value, length())) damaged();
  return value;
}

uint64_t WireReader::varint() {
  uint64_t value = 0;
  if (!coded_.ReadVarint64(&value)) damaged();
  return value;
}

void WireReader::append_varints(int wire, std::vector<int64_t>* values) {
  if (wire == kVarint) return values->push_back(static_cast<int64_t>(varint()));
  const auto limit = coded_.PushLimit(length());
  while (coded_.BytesUntilLimit() > 0) values->push_back(static_cast<int64_t>(varint()));
  coded_.PopLimit(limit);
}

void WireReader::append_floats(int wire, std::vector<float>* values) {
  if (wire == kFixed32) {
    uint32_t bits = 0;
    if (!coded_.ReadLittleEndian32(&bits)) damaged();
    return values->push_back(std::bit_cast<float>(bits));
  }
  const int bytes = length();
  if (bytes % 4 != 0) damaged();
  const size_t before = values->size();
  values->resize(before + static_cast<size_t>(bytes) / 4);
  if (!coded_.ReadRaw(values->data() + before, bytes)) damaged();
}

void WireReader::append_doubles(int wire, std::vector<float>* values) {
  const int bytes = wire == kFixed64 ? 8 : length();
  if (bytes % 8 != 0) damaged();
  values->reserve(values->size() + static_cast<size_t>(bytes) / 8);
  for (int i = 0; i < bytes / 8; ++i) {
    uint64_t bits = 0;
    if (!coded_.ReadLittleEndian64(&bits)) damaged();
    values->push_back(static_cast<float>(std::bit_cast<double>(bits)));
  }
}

void WireReader::skip(uint32_t tag) {
  // SkipField seeks, which succeeds beyond the end of a cut file: lengths are checked here.
  if ((tag & 7) == kBytes) {
    if (!coded_.Skip(length())) damaged();
  } else if (!google::protobuf::internal::WireFormatLite::SkipField(&coded_, tag)) {
    damaged();
  }
}

}  // namespace robusta
