// From LevelDB's doc/table_format.md and doc/log_format.md, and Snappy's format_description.txt.

#include "data/leveldb/level_bytes.h"

namespace robusta {
namespace {

/// Appends `length` bytes that begin `distance` before the end; they may overlap what is appended.
bool repeat(std::string& out, uint64_t distance, uint64_t length) {
  if (distance == 0 || distance > out.size()) return false;
  for (uint64_t i = 0; i < length; ++i) out.push_back(out[out.size() - distance]);
  return true;
}

}  // namespace

void LevelBytes::fail() {
  bad_ = true;
  rest_ = {};
}

uint64_t LevelBytes::varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (rest_.empty()) break;
    const auto byte = static_cast<uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  fail();
  return 0;
}

std::string_view LevelBytes::piece(uint64_t size) {
  if (size > rest_.size()) {
    fail();
    return {};
  }
  const std::string_view taken = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return taken;
}

void put_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

void put_counted(std::string& out, std::string_view bytes) {
  put_varint(out, bytes.size());
  out += bytes;
}

bool unpack_snappy(std::string_view packed, std::string& out) {
  constexpr uint64_t kMostRatio = 32;  // a copy of 64 bytes takes 3
  LevelBytes in(packed);
  const uint64_t size = in.varint();
  if (in.bad() || size > packed.size() * kMostRatio) return false;
  out.clear();
  out.reserve(size);
  while (!in.empty()) {
    const auto tag = in.fixed<uint8_t>();
    const uint64_t upper = tag >> 2;
    uint64_t length = upper + 1, distance = 0;
    switch (tag & 3) {
      case 0:  // bytes as they are
        if (upper >= 60) {
          length = 0;
          const std::string_view bytes = in.piece(upper - 59);
          for (size_t i = 0; i < bytes.size(); ++i) length |= uint64_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
          ++length;
        }
        out.append(in.piece(length));
        break;
      case 1:
        length = 4 + (upper & 7);
        distance = uint64_t{tag & 0xe0u} << 3 | in.fixed<uint8_t>();
        break;
      case 2:
        distance = in.fixed<uint16_t>();
        break;
      default:
        distance = in.fixed<uint32_t>();
    }
    if (in.bad() || out.size() > size) return false;
    if ((tag & 3) != 0 && (length > size - out.size() || !repeat(out, distance, length))) return false;
  }
  return out.size() == size;
}

}  // namespace robusta
