// What this machine's cores and memory give: multiply-adds on registers in f32, in bf16 by vectors (AVX512_BF16) and by
// matrix units (AMX), and the memory's rate. Compiled for the machine it runs on; what that lacks is left out.
//
//   peaks SECONDS [f32]     for each, or of f32 alone; prints lines such as "f32 480.5" and "triad 30.1", GFLOP/s and
//   GB/s

#include <immintrin.h>
#include <omp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#if defined(__AVX512F__)
constexpr int kBytes = 64;
#elif defined(__AVX__)
constexpr int kBytes = 32;
#else
constexpr int kBytes = 16;
#endif
typedef float Vector __attribute__((vector_size(kBytes)));
constexpr int kLanes = kBytes / 4;
// Independent sums, enough to hide the latency of an addition in two units.
constexpr int kChains = 12;

/// Billions of what one call of `body` counts as, per second, over calls for `seconds`.
template <typename Body>
static double rate(double seconds, double counted, const Body& body) {
  const auto start = std::chrono::steady_clock::now();
  double passed = 0, calls = 0;
  while (passed < seconds) {
    body();
    ++calls;
    passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  return counted * calls / passed * 1e-9;
}

static double f32(double seconds, float* sink) {
  constexpr int kRounds = 100000;
  Vector a[kChains], m, s;
  for (int l = 0; l < kLanes; ++l) m[l] = 0.999f, s[l] = 0.001f;
  for (int c = 0; c < kChains; ++c) a[c] = s * static_cast<float>(c);
  const double gflops = rate(seconds, 2.0 * kLanes * kChains * kRounds, [&] {
    for (int i = 0; i < kRounds; ++i)
      for (int c = 0; c < kChains; ++c) a[c] = a[c] * m + s;
  });
  for (int c = 0; c < kChains; ++c) *sink += a[c][0];
  return gflops;
}

#ifdef __AVX512BF16__
static double avx512_bf16(double seconds, float* sink) {
  constexpr int kRounds = 100000;
  __m512 a[kChains];
  for (__m512& x : a) x = _mm512_setzero_ps();
  const __m512bh m = _mm512_cvtne2ps_pbh(_mm512_set1_ps(1e-3f), _mm512_set1_ps(1e-3f));
  const double gflops = rate(seconds, 4.0 * 16 * kChains * kRounds, [&] {
    // In assembly, for the compiler would take a product that stays the same out of the loop.
    for (int i = 0; i < kRounds; ++i) {
      for (__m512& x : a) asm volatile("vdpbf16ps %1, %1, %0" : "+v"(x) : "v"(m));
    }
  });
  for (const __m512& x : a) *sink += x[0];
  return gflops;
}
#endif

#ifdef __AMX_BF16__
/// Linux grants the state of the tiles to those who ask (Documentation/x86/xstate.rst).
static bool may_use_tiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

static double amx_bf16(double seconds, float* sink) {
  constexpr int kRounds = 10000, kProducts = 4;
  constexpr double kFlops = 2.0 * 16 * 16 * 32;  // of a product of two tiles
  struct alignas(64) {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t bytes_of_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  } tiles;
  alignas(64) float result[16][16];
  _tile_loadconfig(&tiles);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  _tile_zero(6);
  _tile_zero(7);
  const double gflops = rate(seconds, kFlops * kProducts * kRounds, [] {
    for (int i = 0; i < kRounds; ++i) {
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(1, 4, 7);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
  });
  _tile_stored(0, result, 64);
  _tile_release();
  *sink += result[0][0];
  return gflops;
}
#endif

/// a = b + s c over arrays that no cache holds (McCalpin 1995, "Memory Bandwidth and Machine Balance"), on all threads:
/// bytes read and written, without those that a write reads first.
static double triad(double seconds, float* sink) {
  constexpr int64_t kCount = int64_t{1} << 26;  // 256 MiB each
  std::vector<float> a(kCount), b(kCount), c(kCount);
  float *to = a.data(), *x = b.data(), *y = c.data();
#pragma omp parallel for
  for (int64_t i = 0; i < kCount; ++i) x[i] = 1, y[i] = 2, to[i] = 0;
  const double rates = rate(seconds, 3.0 * 4 * kCount, [&] {
#pragma omp parallel for simd
    for (int64_t i = 0; i < kCount; ++i) to[i] = x[i] + 3 * y[i];
  });
  *sink += to[kCount - 1];
  return rates;
}

template <typename Measure>
static void print_of_all_threads(const char* name, const Measure& measure) {
  double sum = 0;
  float sink = 0;
#pragma omp parallel reduction(+ : sum, sink)
  sum += measure(&sink);
  std::printf("%s %.3f\n", name, sum);
  if (sink == 0.123f) std::puts("");  // so that nothing is left out as unused
}

int main(int count, char** argv) {
  const double seconds = std::atof(argv[1]);
  print_of_all_threads("f32", [=](float* sink) { return f32(seconds, sink); });
  if (count > 2) return 0;
#ifdef __AVX512BF16__
  print_of_all_threads("avx512_bf16", [=](float* sink) { return avx512_bf16(seconds, sink); });
#endif
#ifdef __AMX_BF16__
  if (may_use_tiles()) print_of_all_threads("amx_bf16", [=](float* sink) { return amx_bf16(seconds, sink); });
#endif
  float sink = 0;
  std::printf("triad %.3f\n", triad(seconds, &sink));
  return sink == 0.123f;
}
