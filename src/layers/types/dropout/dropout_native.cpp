// Dropout with vectorised random numbers (Philox 4x32-10: Salmon et al. 2011). When testing, an alias in any layout.
//
// Words are made for a chunk that stays in the first-level cache, a Philox block per vector lane, and then compared:
// the mask itself is never written to memory.

#include <algorithm>

#include "layers/kit/alias_kernel.h"
#include "layers/kit/elementwise.h"
#include "layers/types/dropout/dropout.h"

namespace robusta {
namespace {

/// A multiple of 4: every chunk begins with a Philox block.
constexpr int64_t kChunk = 1024;  // elements whose random words are made at a time

/// The words of Philox blocks first..first+blocks-1, as base/philox.h gives them, one block per vector lane.
ROBUSTA_SIMD void philox_blocks(uint64_t key, uint64_t high, uint64_t first, int64_t blocks, uint32_t* words) {
#pragma omp simd
  for (int64_t b = 0; b < blocks; ++b) {
    const uint64_t low = first + static_cast<uint64_t>(b);
    uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
    uint32_t c0 = static_cast<uint32_t>(low), c1 = static_cast<uint32_t>(low >> 32);
    uint32_t c2 = static_cast<uint32_t>(high), c3 = static_cast<uint32_t>(high >> 32);
#pragma GCC unroll 10
    for (int round = 0; round < 10; ++round) {
      const uint64_t p0 = uint64_t{0xD2511F53u} * c0, p1 = uint64_t{0xCD9E8D57u} * c2;
      const uint32_t n0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0, n2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
      c0 = n0, c1 = static_cast<uint32_t>(p1), c2 = n2, c3 = static_cast<uint32_t>(p0);
      // Keys go on by Weyl sequences, whose steps are the golden ratio and sqrt(3) - 1 in fractions of 2^32 (section
      // 4.3).
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    words[4 * b] = c0, words[4 * b + 1] = c1, words[4 * b + 2] = c2, words[4 * b + 3] = c3;
  }
}

ROBUSTA_SIMD void drop(const uint32_t* words, uint32_t threshold, float scale, const float* x, float* y,
                       int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] = words[i] >= threshold ? scale * x[i] : 0.0f;
}

/// Plain tensors: the place of an element in its sample counts.
class DropoutNative : public DropoutKernel {
 public:
  using DropoutKernel::DropoutKernel;
  std::string describe() const override { return "native"; }

 private:
  void apply(const KernelRun& run, const Tensor& from, const Tensor& to) const override {
    const DropoutMask mask(layer_, run, to.count());
    const auto factor = layer_.scale<float>();
    const int64_t chunks = (mask.per_sample + kChunk - 1) / kChunk;
    const float* x = from.as<float>();
    float* y = to.as<float>();
    parallel_for(mask.samples * chunks, 4, [=](int64_t task) {
      const int64_t sample = task / chunks, begin = task % chunks * kChunk;
      const int64_t count = std::min(kChunk, mask.per_sample - begin);
      alignas(64) uint32_t words[kChunk];
      philox_blocks(mask.key, *mask.first_sample + static_cast<uint64_t>(sample), static_cast<uint64_t>(begin) / 4,
                    (count + 3) / 4, words);
      const int64_t at = sample * mask.per_sample + begin;
      drop(words, mask.threshold, factor, x + at, y + at, count);
    });
  }
};

std::unique_ptr<Kernel> make_dropout_native(const KernelRequest& request, std::string& why_not) {
  if (request.layer<DropoutLayer>().passes_on()) return make_any_layout_alias(request, why_not);
  if (!is_f32(request, why_not)) return nullptr;
  return std::make_unique<DropoutNative>(request);
}

}  // namespace

ROBUSTA_REGISTER_KERNEL("Dropout", "native", 10, make_dropout_native);

}  // namespace robusta
