// Intel, "Architecture Instruction Set Extensions Programming Reference", chapter 3: palette 1.

#include "device/cpu/tiles.h"

#include "device/cpu/processor.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#endif

namespace robusta {

#if defined(__x86_64__) && defined(__GNUC__)

namespace {

struct Config {
  uint8_t palette, start_row, reserved[14];
  uint16_t bytes_of_line[16];
  uint8_t lines[16];
};

/// A constant: GCC 12 believes that of what the instruction is given only the first 8 bytes are read, and leaves out
/// the writing of the others.
alignas(64) constexpr Config kAllTiles = {1, 0, {}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16}};

__attribute__((target("amx-tile"))) void configure() { _tile_loadconfig(&kAllTiles); }
__attribute__((target("amx-tile"))) void release() { _tile_release(); }

}  // namespace

bool may_use_tiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return has_instructions("amx_bf16") && syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

namespace {
bool has_tiles() {
  static const bool has = may_use_tiles();
  return has;
}
}  // namespace

TilesInUse::TilesInUse() {
  if (has_tiles()) configure();
}
TilesInUse::~TilesInUse() {
  if (has_tiles()) release();
}

#else

bool may_use_tiles() { return false; }
TilesInUse::TilesInUse() = default;
TilesInUse::~TilesInUse() = default;

#endif

}  // namespace robusta
