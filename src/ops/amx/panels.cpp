// A block of 16 x 16 pairs of terms is 16 registers; a transposition of them takes 64 shuffles, as of any 16 x 16 words
// of 32 bits.

#include "ops/amx/panels.h"

#include <algorithm>

#include "base/half.h"
#include "base/simd.h"
#include "base/vector_types.h"
#include "ops/amx/target.h"

namespace robusta::amx {

#if ROBUSTA_HAS_AMX

namespace {

using Pairs = VectorOf<16, int32_t>::type;     // of terms, as they lie in a line of a tile
using Numbers = VectorOf<32, uint16_t>::type;  // bf16
using HalfNumbers = VectorOf<16, uint16_t>::type;

struct Block {
  Pairs line[kTile];
};

ROBUSTA_AMX_INLINE __mmask16 first16(int64_t count) {
  return static_cast<__mmask16>((1u << std::clamp<int64_t>(count, 0, 16)) - 1);
}
ROBUSTA_AMX_INLINE __mmask32 first32(int64_t count) {
  return static_cast<__mmask32>((uint64_t{1} << std::clamp<int64_t>(count, 0, 32)) - 1);
}

/// 32 numbers from there on, of which `count` are there.
ROBUSTA_AMX_INLINE Numbers load32(const uint16_t* from, int64_t count) {
  return (Numbers)_mm512_maskz_loadu_epi16(first32(count), from);
}
ROBUSTA_AMX_INLINE Numbers load32(const float* from, int64_t count) {
  const __m512 low = _mm512_maskz_loadu_ps(first16(count), from);
  const __m512 high = _mm512_maskz_loadu_ps(first16(count - 16), from + 16);
  return (Numbers)_mm512_cvtne2ps_pbh(high, low);
}

ROBUSTA_AMX_INLINE Numbers load_step(const uint16_t* from) { return (Numbers)_mm512_loadu_si512(from); }
ROBUSTA_AMX_INLINE Numbers load_step(const float* from) {
  return (Numbers)_mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + 16), _mm512_loadu_ps(from));
}

/// 16 numbers of a term and 16 of the next, in pairs; null: there is no next one.
ROBUSTA_AMX_INLINE Numbers load_pairs(const uint16_t* one, const uint16_t* next, __mmask16 there) {
  const auto low = (HalfNumbers)_mm256_maskz_loadu_epi16(there, one);
  const auto high = next ? (HalfNumbers)_mm256_maskz_loadu_epi16(there, next) : HalfNumbers{};
  return __builtin_shufflevector(low, high, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24, 9, 25, 10,
                                 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}
ROBUSTA_AMX_INLINE Numbers load_pairs(const float* one, const float* next, __mmask16 there) {
  const __m512 low = _mm512_maskz_loadu_ps(there, one);
  const __m512 high = next ? _mm512_maskz_loadu_ps(there, next) : _mm512_setzero_ps();
  const auto both = (Numbers)_mm512_cvtne2ps_pbh(high, low);
  return __builtin_shufflevector(both, both, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24, 9, 25, 10,
                                 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

/// The lower or the upper two of each four numbers, one by one from either.
ROBUSTA_AMX_INLINE Pairs zip_low(const Pairs& a, const Pairs& b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
}
ROBUSTA_AMX_INLINE Pairs zip_high(const Pairs& a, const Pairs& b) {
  return __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
}
/// The same of twos.
ROBUSTA_AMX_INLINE Pairs zip_low_twos(const Pairs& a, const Pairs& b) {
  return __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
}
ROBUSTA_AMX_INLINE Pairs zip_high_twos(const Pairs& a, const Pairs& b) {
  return __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
}
/// Every other four of one, then of the other.
ROBUSTA_AMX_INLINE Pairs even_fours(const Pairs& a, const Pairs& b) {
  return __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
}
ROBUSTA_AMX_INLINE Pairs odd_fours(const Pairs& a, const Pairs& b) {
  return __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
}

/// line[i][j] <-> line[j][i]: first within fours of lines and of pairs, then of the fours themselves.
ROBUSTA_AMX_INLINE void transpose(Block& block) {
  Pairs *line = block.line, fours[kTile];
#pragma GCC unroll 4
  for (int i = 0; i < kTile; i += 4) {
    const Pairs low = zip_low(line[i], line[i + 1]), high = zip_high(line[i], line[i + 1]);
    const Pairs next_low = zip_low(line[i + 2], line[i + 3]), next_high = zip_high(line[i + 2], line[i + 3]);
    fours[i] = zip_low_twos(low, next_low);
    fours[i + 1] = zip_high_twos(low, next_low);
    fours[i + 2] = zip_low_twos(high, next_high);
    fours[i + 3] = zip_high_twos(high, next_high);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const Pairs even = even_fours(fours[i], fours[4 + i]), odd = odd_fours(fours[i], fours[4 + i]);
    const Pairs more_even = even_fours(fours[8 + i], fours[12 + i]), more_odd = odd_fours(fours[8 + i], fours[12 + i]);
    line[i] = even_fours(even, more_even);
    line[4 + i] = even_fours(odd, more_odd);
    line[8 + i] = odd_fours(even, more_even);
    line[12 + i] = odd_fours(odd, more_odd);
  }
}

ROBUSTA_AMX_INLINE void store(const Block& block, uint32_t* tile) {
#pragma GCC unroll 16
  for (int i = 0; i < kTile; ++i) _mm512_storeu_si512(tile + i * kTile, (__m512i)block.line[i]);
}

// Loops over the lines of a block are unrolled throughout, or it would lie in memory and not in registers.

/// `there` lines, with so many terms each.
template <typename T>
ROBUSTA_AMX_INLINE void load_lines(const T* first, int64_t next, int64_t there, int64_t terms, Block& block) {
  if (there >= kTile) {
#pragma GCC unroll 16
    for (int i = 0; i < kTile; ++i) block.line[i] = (Pairs)load32(first + i * next, terms);
  } else {
#pragma GCC unroll 16
    for (int i = 0; i < kTile; ++i) block.line[i] = i < there ? (Pairs)load32(first + i * next, terms) : Pairs{};
  }
}

/// 16 lines from `line` on, where they are there, of so many terms.
template <typename T>
ROBUSTA_AMX_INLINE void load_terms(const T* const* rows, int64_t line, __mmask16 there, int64_t terms, Block& block) {
  if (terms >= kStepTerms) {
#pragma GCC unroll 16
    for (int i = 0; i < kTile; ++i) {
      block.line[i] = (Pairs)load_pairs(rows[2 * i] + line, rows[2 * i + 1] + line, there);
    }
  } else {
#pragma GCC unroll 16
    for (int i = 0; i < kTile; ++i) {
      const T* next = 2 * i + 1 < terms ? rows[2 * i + 1] + line : nullptr;
      block.line[i] = 2 * i < terms ? (Pairs)load_pairs(rows[2 * i] + line, next, there) : Pairs{};
    }
  }
}

/// What a line has in a step.
template <typename T>
ROBUSTA_AMX_INLINE void fetch_step(const T* numbers) {
  constexpr int64_t kCacheLine = 64 / sizeof(T);
  for (int64_t at = 0; at < kStepTerms; at += kCacheLine) __builtin_prefetch(numbers + at, 0, 2);
}

/// Line after line, in the order in which memory lies.
template <typename T>
ROBUSTA_AMX void lines_to_rows(const T* first, int64_t next, int64_t lines, int64_t terms, int64_t ahead,
                               uint32_t* panels) {
  const int64_t steps = steps_of(terms);
  for (int64_t line = 0; line < (lines + kTile - 1) / kTile * kTile; ++line) {
    uint32_t* to = panels + line / kPanelLines * steps * kStepPairs + line % kPanelLines * kTile;
    const T* from = first + line * next;
    int64_t term = 0;
    // Whole steps need no masks.
    for (; line < lines && term + kStepTerms <= terms; term += kStepTerms, to += kStepPairs) {
      if (ahead > 0) fetch_step(from + term + ahead);
      _mm512_storeu_si512(to, (__m512i)load_step(from + term));
    }
    for (; term < terms; term += kStepTerms, to += kStepPairs) {
      const Numbers numbers = line < lines ? load32(from + term, terms - term) : Numbers{};
      _mm512_storeu_si512(to, (__m512i)numbers);
    }
  }
}

template <typename T>
ROBUSTA_AMX void lines_to_columns(const T* first, int64_t next, int64_t lines, int64_t terms, int64_t,
                                  uint32_t* panels) {
  const int64_t steps = steps_of(terms);
  for (int64_t tile = 0; tile * kTile < lines; ++tile) {
    uint32_t* to = panels + tile / 2 * steps * kStepPairs + tile % 2 * kTile * kTile;
    const T* from = first + tile * kTile * next;
    for (int64_t term = 0; term < terms; term += kStepTerms, to += kStepPairs) {
      Block block;
      load_lines(from + term, next, lines - tile * kTile, terms - term, block);
      transpose(block);
      store(block, to);
    }
  }
}

template <typename T, bool kTurns>
ROBUSTA_AMX void terms_to_panels(const T* const* first_lines, int64_t terms, int64_t lines, uint32_t* panels) {
  const int64_t steps = steps_of(terms);
  for (int64_t step = 0; step < steps; ++step) {
    const int64_t term = step * kStepTerms;
    for (int64_t tile = 0; tile * kTile < lines; ++tile) {
      Block block;
      load_terms(first_lines + term, tile * kTile, first16(lines - tile * kTile), terms - term, block);
      if constexpr (kTurns) transpose(block);
      store(block, panels + (tile / 2 * steps + step) * kStepPairs + tile % 2 * kTile * kTile);
    }
  }
}

ROBUSTA_AMX void pairs_to_columns(const uint16_t* const* first_lines, int64_t pairs, int64_t lines, uint32_t* columns) {
  const __mmask16 there = first16(lines);
  for (int64_t pair = 0; pair < pairs; ++pair, columns += kTile) {
    _mm512_storeu_si512(columns, (__m512i)load_pairs(first_lines[2 * pair], first_lines[2 * pair + 1], there));
  }
}

}  // namespace

template <typename T>
void pack_lines_by_vectors(const T* first, int64_t next, int64_t lines, int64_t terms, int64_t ahead, Side side,
                           uint32_t* panels) {
  const auto pack = side == Side::kColumns ? lines_to_columns<T> : lines_to_rows<T>;
  pack(first, next, lines, terms, ahead, panels);
}

template <typename T>
void pack_terms_by_vectors(const T* const* first_lines, int64_t terms, int64_t lines, Side side, uint32_t* panels) {
  const auto pack = side == Side::kRows ? terms_to_panels<T, true> : terms_to_panels<T, false>;
  pack(first_lines, terms, lines, panels);
}

void pack_pairs_by_vectors(const uint16_t* const* first_lines, int64_t pairs, int64_t lines, uint32_t* columns) {
  pairs_to_columns(first_lines, pairs, lines, columns);
}

#else

void pack_pairs_by_vectors(const uint16_t* const*, int64_t, int64_t, uint32_t*) {}
template <typename T>
void pack_lines_by_vectors(const T*, int64_t, int64_t, int64_t, int64_t, Side, uint32_t*) {}
template <typename T>
void pack_terms_by_vectors(const T* const*, int64_t, int64_t, Side, uint32_t*) {}

#endif

namespace {

uint16_t bits_of(uint16_t number) { return number; }
uint16_t bits_of(float number) { return to_bf16(number); }

/// In plain loops: at(line, term) is a number as bf16.
template <typename At>
void pack_plainly(int64_t lines, int64_t terms, Side side, uint32_t* panels, const At& at) {
  const auto number = [&](int64_t line, int64_t term) -> uint32_t {
    return line < lines && term < terms ? at(line, term) : uint16_t{0};
  };
  const int64_t steps = steps_of(terms), tiles = (lines + kTile - 1) / kTile;
  for (int64_t line = 0; line < tiles * kTile; ++line) {
    uint32_t* panel = panels + line / kPanelLines * steps * kStepPairs + line / kTile % 2 * kTile * kTile;
    for (int64_t pair = 0; pair < steps * kTile; ++pair) {
      const int64_t in_tile =
          side == Side::kRows ? line % kTile * kTile + pair % kTile : pair % kTile * kTile + line % kTile;
      panel[pair / kTile * kStepPairs + in_tile] = number(line, 2 * pair) | number(line, 2 * pair + 1) << 16;
    }
  }
}

}  // namespace

template <typename T>
void pack_lines(const T* first, int64_t next, int64_t lines, int64_t terms, Side side, uint32_t* panels,
                int64_t ahead) {
  if (has_units()) return pack_lines_by_vectors(first, next, lines, terms, ahead, side, panels);
  pack_plainly(lines, terms, side, panels,
               [=](int64_t line, int64_t term) { return bits_of(first[line * next + term]); });
}

template <typename T>
void pack_terms(const T* const* first_lines, int64_t terms, int64_t lines, Side side, uint32_t* panels) {
  if (has_units()) return pack_terms_by_vectors(first_lines, terms, lines, side, panels);
  pack_plainly(lines, terms, side, panels,
               [=](int64_t line, int64_t term) { return bits_of(first_lines[term][line]); });
}

void pack_pairs(const uint16_t* const* first_lines, int64_t pairs, int64_t lines, uint32_t* columns) {
  if (has_units()) return pack_pairs_by_vectors(first_lines, pairs, lines, columns);
  for (int64_t pair = 0; pair < pairs; ++pair, columns += kTile) {
    const uint16_t *one = first_lines[2 * pair], *next = first_lines[2 * pair + 1];
    for (int64_t i = 0; i < kTile; ++i) columns[i] = i < lines ? one[i] | uint32_t{next[i]} << 16 : 0;
  }
}

ROBUSTA_SIMD void add_terms(const uint16_t* const* first_lines, int64_t terms, int64_t lines, float* sums) {
  for (int64_t t = 0; t < terms; ++t) {
    const uint16_t* term = first_lines[t];
#pragma omp simd
    for (int64_t i = 0; i < lines; ++i) sums[i] += from_bf16(term[i]);
  }
}

template void pack_lines(const uint16_t*, int64_t, int64_t, int64_t, Side, uint32_t*, int64_t);
template void pack_lines(const float*, int64_t, int64_t, int64_t, Side, uint32_t*, int64_t);
template void pack_terms(const uint16_t* const*, int64_t, int64_t, Side, uint32_t*);
template void pack_terms(const float* const*, int64_t, int64_t, Side, uint32_t*);

}  // namespace robusta::amx
