// Eltwise sums for any layout, alone and with the ReLU that follows in a residual block.

#include <cstring>

#include "base/lane_map.h"
#include "layers/kit/blocks.h"
#include "layers/kit/weighted_sum.h"
#include "layers/types/eltwise/eltwise_native.h"
#include "layers/types/eltwise/eltwise_sum.h"

namespace robusta {
namespace {

template <typename Stored>
ROBUSTA_SIMD void scale(const Stored* dy, float weight, Stored* dx, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) assign(weight * static_cast<float>(dy[i]), dx[i]);
}

/// What comes down through a ReLU whose result was y.
template <typename Stored>
ROBUSTA_SIMD void gate(const Stored* y, const Stored* dy, float slope, float weight, Stored* dx, int64_t count) {
  map_lanes(
      dy, y, dx, count, [=](Floats<16> & gradient, const Floats<16>& result) __attribute__((always_inline)) {
        gradient = weight * (result > 0 ? gradient : slope * gradient);
      });
}

template <typename Stored>
class SumKernel : public EltwiseSumKernel<SumTerm<Stored>> {
  using Base = EltwiseSumKernel<SumTerm<Stored>>;
  using Base::count_, Base::fused_, Base::plain_, Base::slope_, Base::terms_;

 public:
  using Base::Base;
  std::string describe() const override { return "native"; }

  void forward(const KernelRun& run) override {
    for (size_t b = 0; b < terms_.size(); ++b) terms_[b].data = run.bottoms[b].as<Stored>();
    Stored* y = run.tops[0].as<Stored>();
    if (fused_) {
      weighted_sum_relu<Stored>(terms_, slope_, y, count_);
    } else {
      weighted_sum<Stored>(terms_, y, count_);
    }
  }

  void backward(const KernelRun& run) override {
    if (plain_) {
      backward_equal(run);
    } else {
      backward_weighted(run);
    }
  }

 private:
  /// The gradient is computed for the first bottom that wants one and copied to those that do not share its memory.
  void backward_equal(const KernelRun& run) const {
    size_t first = 0;
    while (first < terms_.size() && !run.bottom_diffs[first]) ++first;
    if (first == terms_.size()) return;
    const Stored* dy = run.top_diffs[0].as<Stored>();
    Stored* dx = run.bottom_diffs[first].as<Stored>();
    parallel_blocks(count_, [&, dy, dx](int64_t at, int64_t n) {
      pass_down(run, 1, dy, dx, at, n);
      for (size_t b = first + 1; b < terms_.size(); ++b) {
        Stored* other = run.bottom_diffs[b].as<Stored>();
        if (other && other != dx) std::memcpy(other + at, dx + at, static_cast<size_t>(n) * sizeof(Stored));
      }
    });
  }

  void backward_weighted(const KernelRun& run) const {
    const Stored* dy = run.top_diffs[0].as<Stored>();
    parallel_blocks(count_, [&, dy](int64_t at, int64_t n) {
      // Bottom 0 comes last: its gradient may take the place of dy.
      for (size_t b = terms_.size(); b-- > 0;) {
        Stored* dx = run.bottom_diffs[b].as<Stored>();
        if (dx) pass_down(run, terms_[b].weight, dy, dx, at, n);
      }
    });
  }

  void pass_down(const KernelRun& run, float weight, const Stored* dy, Stored* dx, int64_t at, int64_t n) const {
    if (fused_) {
      gate(run.tops[0].as<Stored>() + at, dy + at, slope_, weight, dx + at, n);
    } else if (dx != dy || weight != 1) {
      scale(dy + at, weight, dx + at, n);
    }
  }
};

}  // namespace

std::unique_ptr<Kernel> make_eltwise_sum(const KernelRequest& request) {
  return with_f32_or_bf16(request.dtype(), [&](auto stored) -> std::unique_ptr<Kernel> {
    return std::make_unique<SumKernel<decltype(stored)>>(request);
  });
}

}  // namespace robusta
