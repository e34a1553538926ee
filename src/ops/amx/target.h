/// For functions that use AMX, and vectors that round to bf16: what they are compiled for.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define ROBUSTA_HAS_AMX 1
#define ROBUSTA_AMX __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,amx-tile,amx-bf16")))
#define ROBUSTA_AMX_INLINE ROBUSTA_AMX __attribute__((always_inline)) inline

namespace robusta::amx {
/// GCC 12 does not know that a load of a tile reads memory, and may write later what comes before.
inline void finish_writes() { asm volatile("" ::: "memory"); }
}  // namespace robusta::amx

#else
#define ROBUSTA_HAS_AMX 0
#endif
