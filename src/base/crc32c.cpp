// A byte at a time, by a table: what is checked here is short.

#include "base/crc32c.h"

#include <array>

namespace robusta {
namespace {

/// Castagnoli, Braeuer, Herrmann 1993; the polynomial reversed.
constexpr std::array<uint32_t, 256> make_crc_table() {
  constexpr uint32_t kPolynomial = 0x82f63b78;
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? kPolynomial : 0);
    table[i] = crc;
  }
  return table;
}

uint32_t extend_crc(uint32_t crc, std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> kTable = make_crc_table();
  for (const char byte : bytes) crc = crc >> 8 ^ kTable[(crc ^ static_cast<uint8_t>(byte)) & 0xff];
  return crc;
}

}  // namespace

uint32_t masked_crc(std::string_view bytes, std::string_view last) {
  const uint32_t crc = ~extend_crc(extend_crc(~uint32_t{0}, bytes), last);
  constexpr uint32_t kMask = 0xa282ead8;
  return (crc >> 15 | crc << 17) + kMask;
}

}  // namespace robusta
