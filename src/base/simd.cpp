// The processor is asked once for each call: kernels ask when they are made.

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
