/// Sums of arrays, and f32 on its way through a narrow link as 16 bits.
#pragma once

#include <cstdint>

#include "comm/ddl_options.h"
#include "comm/reduce/stage.h"

namespace robusta {

/// to += from; they do not overlap.
void add(const Span& to, const void* from);
/// to = a + b; `to` overlaps neither.
void add_into(const Span& to, const void* a, const void* b);

/// Rounds to the nearest, ties to even; not a number stays one. Values too large for fp16 become infinite.
void pack(Compression format, const float* from, uint16_t* to, int64_t count);
void unpack(Compression format, const uint16_t* from, float* to, int64_t count);
/// to += unpacked
void add_unpacked(Compression format, const uint16_t* from, float* to, int64_t count);

}  // namespace robusta
