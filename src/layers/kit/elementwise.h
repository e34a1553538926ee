/// What elementwise kernels share: the layout they all work in, and whole kernels for a function of one argument.
///
/// An elementwise kernel need not know how its tensors are stored as long as all are stored alike: it walks over the
/// storage. Only padding wants care: it must stay zero.
#pragma once

#include <cmath>

#include "base/parallel.h"
#include "base/simd.h"
#include "layers/kit/kernel.h"

namespace robusta {

/// Elements that one thread should at least have in a loop bound by memory.
inline constexpr int64_t kElementwiseGrain = 1 << 14;

/// Elements in storage, padding included.
inline int64_t stored_count(const TensorDesc& desc) { return static_cast<int64_t>(desc.bytes() / size_of(desc.dtype)); }

/// False, with a reason, for all but f32: what native kernels ask first.
bool is_f32(const KernelRequest& request, std::string& why_not);

/// Settles one layout for all bottoms and tops: that of the first bottom that is not plain. A padded one only when the
/// kernel makes zeros of zeros (`keeps_zero`), else plain. Returns the number of stored elements of bottom 0.
/// REQUIRES: all bottoms and tops have one shape.
int64_t book_shared_layout(const KernelRequest& request, bool keeps_zero, Booking& booking);

/// Copies the content of `from` unless `to` lives in the same memory already. REQUIRES: equal sizes and layouts.
void copy_unless_shared(const Tensor& from, const Tensor& to);
void fill_zero(const Tensor& tensor);

/// What the derivative of a function is computed from.
enum class SlopeFrom { kNothing, kBottom, kTop };

/// The value that slope() wants; any valid memory when it wants none.
inline const void* slope_argument(SlopeFrom from, const KernelRun& run) {
  if (from == SlopeFrom::kNothing) return run.top_diffs[0].data;
  return from == SlopeFrom::kTop ? run.tops[0].data : run.bottoms[0].data;
}

inline void book_unary(SlopeFrom from, Booking& booking) {
  booking.reads_bottoms = {from == SlopeFrom::kBottom};
  booking.reads_tops = {from == SlopeFrom::kTop};
  booking.repeatable = true;
  booking.forward_aliases = {{0, 0, false}};
  booking.backward_aliases = {{0, 0, false}};
}

/// A layer that computes y = f(x) for each element. `Function` is made from the KernelRequest and has
///   T value(T x)             the function
///   T slope(T s)             its derivative, from x, from y or constant
///   SlopeFrom slope_from()   which of the three
template <typename T, typename Function>
class UnaryReference : public Kernel {
 public:
  explicit UnaryReference(const KernelRequest& request) : f_(request) { book_unary(f_.slope_from(), booking_); }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const T* x = run.bottoms[0].as<T>();
    T* y = run.tops[0].as<T>();
    parallel_for(run.tops[0].count(), kElementwiseGrain, [=, this](int64_t i) { y[i] = f_.value(x[i]); });
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    const T* s = static_cast<const T*>(slope_argument(f_.slope_from(), run));
    const T* dy = run.top_diffs[0].as<T>();
    T* dx = run.bottom_diffs[0].as<T>();
    parallel_for(run.bottom_diffs[0].count(), kElementwiseGrain,
                 [=, this](int64_t i) { dx[i] = dy[i] * f_.slope(s[i]); });
  }

 private:
  Function f_;
};

namespace detail {

// Not `restrict`: the planner may have put result and argument into the same memory, element upon element.
template <typename Function>
ROBUSTA_SIMD void map_values(Function f, const float* x, float* y, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] = f.value(x[i]);
}

template <typename Function>
ROBUSTA_SIMD void map_slopes(Function f, const float* s, const float* dy, float* dx, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) dx[i] = dy[i] * f.slope(s[i]);
}

}  // namespace detail

/// The same in f32 with vectorised loops, for any layout. `Function`: as above, without branches.
template <typename Function>
class UnaryNative : public Kernel {
 public:
  explicit UnaryNative(const KernelRequest& request) : f_(request) {
    const bool keeps_zero = f_.value(0.0f) == 0.0f && std::isfinite(f_.slope(0.0f));
    count_ = book_shared_layout(request, keeps_zero, booking_);
    book_unary(f_.slope_from(), booking_);
  }
  std::string describe() const override { return "native"; }

  void forward(const KernelRun& run) override {
    const float* x = run.bottoms[0].as<float>();
    float* y = run.tops[0].as<float>();
    parallel_ranges(count_, kElementwiseGrain, [=, this](int64_t begin, int64_t end) {
      detail::map_values(f_, x + begin, y + begin, end - begin);
    });
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    const float* s = static_cast<const float*>(slope_argument(f_.slope_from(), run));
    const float* dy = run.top_diffs[0].as<float>();
    float* dx = run.bottom_diffs[0].as<float>();
    parallel_ranges(count_, kElementwiseGrain, [=, this](int64_t begin, int64_t end) {
      detail::map_slopes(f_, s + begin, dy + begin, dx + begin, end - begin);
    });
  }

 private:
  Function f_;
  int64_t count_;
};

/// The factory of UnaryNative<Function>.
template <typename Function>
std::unique_ptr<Kernel> make_unary_native(const KernelRequest& request, std::string& why_not) {
  if (!is_f32(request, why_not)) return nullptr;
  return std::make_unique<UnaryNative<Function>>(request);
}

}  // namespace robusta
