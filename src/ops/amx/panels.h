/// Factors of a matrix product in the panels that tile_products.h multiplies.
///
/// A tile of rows is [line][pair of terms], one of columns [pair of terms][line]: of numbers that lie the other way,
/// blocks of 16 x 16 pairs are transposed. What a tile lacks of lines and of terms is zero; a panel
/// of at most 16 lines has one tile, and nothing is written to the place of the other.
#pragma once

#include <cstdint>

#include "ops/amx/tile_products.h"

namespace robusta::amx {

enum class Side { kRows, kColumns };

constexpr int64_t panels_of(int64_t lines) { return (lines + kPanelLines - 1) / kPanelLines; }
constexpr int64_t steps_of(int64_t terms) { return (terms + kStepTerms - 1) / kStepTerms; }
/// How many tiles of a panel have lines.
constexpr int tiles_of(int64_t lines, int64_t panel) { return lines - panel * kPanelLines > kTile ? 2 : 1; }
/// Pairs of terms, of four bytes each, that the panels of a factor hold.
constexpr int64_t pairs_of(int64_t lines, int64_t terms) { return panels_of(lines) * steps_of(terms) * kStepPairs; }

/// T: uint16_t for bf16, or float, which is rounded to it.
///
/// Of lines that lie `next` numbers apart, with the terms of each beside one another: [panel][step][tile]. As rows they
/// are fetched into the caches meanwhile, `ahead` terms further.
template <typename T>
void pack_lines(const T* first, int64_t next, int64_t lines, int64_t terms, Side side, uint32_t* panels,
                int64_t ahead = 0);

/// Of terms that lie anywhere, with the lines of each beside one another, as pixels have channels.
template <typename T>
void pack_terms(const T* const* first_lines, int64_t terms, int64_t lines, Side side, uint32_t* panels);

/// Sixteen lines, of which `lines` are there, as columns without steps: [pair of terms][line], of 2 * pairs terms.
void pack_pairs(const uint16_t* const* first_lines, int64_t pairs, int64_t lines, uint32_t* columns);

/// sums[line] += its bf16 terms, one after the other.
void add_terms(const uint16_t* const* first_lines, int64_t terms, int64_t lines, float* sums);

}  // namespace robusta::amx
