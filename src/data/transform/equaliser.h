/// Histograms of a plane of bytes, made even.
#pragma once

#include <cstdint>
#include <vector>

namespace robusta {

/// The whole plane by one table. REQUIRES: count > 0.
void equalise_plane(uint8_t* plane, int64_t count);

/// 8 x 8 tiles with a table each, and between their middles four tables. `copy` is memory to use. REQUIRES: sides > 0.
void equalise_plane_by_tiles(uint8_t* plane, int64_t height, int64_t width, std::vector<uint8_t>& copy);

}  // namespace robusta
