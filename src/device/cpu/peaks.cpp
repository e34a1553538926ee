// Multiply-adds on registers, in f32, in bf16 by vectors (AVX512_BF16) and by matrix units (AMX); and the rate of the
// memory by the triad of STREAM (McCalpin 1995, "Memory Bandwidth and Machine Balance").

#include "device/cpu/peaks.h"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>

#include "base/parallel.h"
#include "base/simd.h"
#include "base/vector_types.h"
#include "device/cpu/host_memory.h"
#include "device/cpu/processor.h"
#include "device/cpu/tiles.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif

namespace robusta {
namespace {

/// Independent sums: enough to hide the latency of an addition in two units.
constexpr int kChains = 12;

/// Of what one call of `body` counts as, per second, over calls for `seconds`.
double rate(double seconds, double counted, const std::function<void()>& body) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  double passed = 0, calls = 0;
  while (passed < seconds) {
    body();
    ++calls;
    passed = std::chrono::duration<double>(Clock::now() - start).count();
  }
  return counted * calls / passed;
}

/// What a thread measures, and numbers that depend on all it computed, lest the compiler leave any of it out.
struct Measured {
  double rate = 0;
  float sink = 0;
};

/// The sum over threads that measure at the same time.
double of_all_threads(Measured (*measure)(double seconds), double seconds) {
  double sum = 0;
  volatile float sink = 0;
#pragma omp parallel
  {
    const Measured own = measure(seconds);
#pragma omp critical(robusta_peaks)
    {
      sum += own.rate;
      sink = sink + own.sink;
    }
  }
  return sum;
}

/// Multiply-adds of vectors of N floats in registers.
template <int N>
__attribute__((always_inline)) inline float multiply_add(int rounds) {
  const Floats<N> factor = Floats<N>{} + 0.999f, term = Floats<N>{} + 0.001f;
  Floats<N> sums[kChains];
  // Chains that were equal would be computed once.
  for (int c = 0; c < kChains; ++c) sums[c] = term * static_cast<float>(c);
  for (int i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) sums[c] = sums[c] * factor + term;
  }
  float sink = 0;
  for (int c = 0; c < kChains; ++c) sink += sums[c][0];
  return sink;
}

template <int N, typename MultiplyAdd>
Measured f32_of_thread(double seconds, const MultiplyAdd& multiply_add) {
  constexpr int kRounds = 100'000;
  Measured own;
  own.rate = rate(seconds, 2.0 * N * kChains * kRounds, [&] { own.sink += multiply_add(kRounds); });
  return own;
}

float narrow_multiply_add(int rounds) { return multiply_add<4>(rounds); }
Measured narrow_f32_of_thread(double seconds) { return f32_of_thread<4>(seconds, narrow_multiply_add); }

#if defined(__x86_64__) && defined(__GNUC__)

__attribute__((target("avx2,fma"))) float avx2_multiply_add(int rounds) { return multiply_add<8>(rounds); }
Measured avx2_f32_of_thread(double seconds) { return f32_of_thread<8>(seconds, avx2_multiply_add); }

__attribute__((target("avx512f"))) float avx512_multiply_add(int rounds) { return multiply_add<16>(rounds); }
Measured avx512_f32_of_thread(double seconds) { return f32_of_thread<16>(seconds, avx512_multiply_add); }

/// By the widest vectors that there are.
auto f32_by_processor() {
  if (__builtin_cpu_supports("avx512f")) return avx512_f32_of_thread;
  const bool wide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return wide ? avx2_f32_of_thread : narrow_f32_of_thread;
}

__attribute__((target("avx512f,avx512bf16"))) float multiply_add_bf16(int rounds) {
  __m512 sums[kChains];
  for (__m512& sum : sums) sum = _mm512_setzero_ps();
  const __m512bh factor = _mm512_cvtne2ps_pbh(_mm512_set1_ps(1e-3f), _mm512_set1_ps(1e-3f));
  // In assembly, for the compiler would take a product that stays the same out of the loop.
  for (int i = 0; i < rounds; ++i) {
    for (__m512& sum : sums) asm volatile("vdpbf16ps %1, %1, %0" : "+v"(sum) : "v"(factor));
  }
  float sink = 0;
  for (const __m512& sum : sums) sink += sum[0];
  return sink;
}

Measured avx512_of_thread(double seconds) {
  constexpr int kRounds = 100'000;
  Measured own;
  own.rate = rate(seconds, 4.0 * 16 * kChains * kRounds, [&] { own.sink += multiply_add_bf16(kRounds); });
  return own;
}

/// Four products a round, of tiles of 16 x 32 and 32 x 16.
__attribute__((target("amx-tile,amx-bf16"))) void multiply_tiles_of_zeros(int rounds) {
  const TilesInUse tiles;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  _tile_zero(6);
  _tile_zero(7);
  for (int i = 0; i < rounds; ++i) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
}

Measured amx_of_thread(double seconds) {
  constexpr int kRounds = 10'000;
  return {rate(seconds, 4.0 * 2 * 16 * 16 * 32 * kRounds, [] { multiply_tiles_of_zeros(kRounds); })};
}

void measure_bf16(double seconds, ProcessorPeaks& peaks) {
  if (has_instructions("avx512_bf16")) peaks.avx512_bf16 = of_all_threads(avx512_of_thread, seconds);
  if (may_use_tiles()) peaks.amx_bf16 = of_all_threads(amx_of_thread, seconds);
}

#else

auto f32_by_processor() { return narrow_f32_of_thread; }
void measure_bf16(double, ProcessorPeaks&) {}

#endif

ROBUSTA_SIMD void add_scaled(const float* b, const float* c, float* a, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) a[i] = b[i] + 3 * c[i];
}

/// Bytes read and written, without those that a write reads first.
double triad(double seconds) {
  constexpr int64_t kCount = int64_t{1} << 26, kGrain = 1 << 20;  // arrays of 256 MiB, which no cache holds
  // The system promises memory that it does not have, and ends who then writes to it.
  if (available_host_memory() < 4 * sizeof(float) * kCount) return 0;
  // Left as they come, so that the threads that use pages are the first to touch them.
  const auto array = [] { return std::unique_ptr<float[]>(new (std::nothrow) float[kCount]); };
  const auto a = array(), b = array(), c = array();
  if (!a || !b || !c) return 0;
  float *to = a.get(), *x = b.get(), *y = c.get();
  parallel_ranges(kCount, kGrain, [=](int64_t begin, int64_t end) {
    std::fill(x + begin, x + end, 1.0f);
    std::fill(y + begin, y + end, 2.0f);
    std::fill(to + begin, to + end, 0.0f);
  });
  return rate(seconds, 3.0 * sizeof(float) * kCount, [=] {
    parallel_ranges(kCount, kGrain,
                    [=](int64_t begin, int64_t end) { add_scaled(x + begin, y + begin, to + begin, end - begin); });
  });
}

}  // namespace

double ProcessorPeaks::bf16() const { return std::max(avx512_bf16, amx_bf16); }

ProcessorPeaks measure_peaks(double seconds) {
  ProcessorPeaks peaks;
  peaks.f32 = of_all_threads(f32_by_processor(), seconds);
  measure_bf16(seconds, peaks);
  peaks.memory = triad(seconds);
  return peaks;
}

}  // namespace robusta
