/// The checksum of LevelDB's files and of TensorBoard's: Castagnoli's CRC-32C, masked.
#pragma once

#include <cstdint>
#include <string_view>

namespace robusta {

/// CRC-32C of the bytes and then of `last`, rotated and moved by a constant, as these formats store it: a checksum of
/// bytes that hold checksums would say little otherwise (LevelDB's util/crc32c.h).
uint32_t masked_crc(std::string_view bytes, std::string_view last = {});

}  // namespace robusta
