// What the processor tells of itself, which the compiler's library has asked it when the program was loaded.

#include "base/simd.h"

namespace robusta {

int vector_lanes() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return 16;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return 8;
#endif
  return 0;
}

}  // namespace robusta
