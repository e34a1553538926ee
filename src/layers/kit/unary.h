/// Layers that compute y = f(x) for each element: their meaning, and the kernels of the CPU.
///
/// f is given once, as a formula: a class template over the functions it is made of (math.h), so that one text serves
/// the reference, vectors and GPUs (backends/formula.h).
///   template <typename Math>
///   struct Formula {
///     using T = typename Math::T;
///     explicit Formula(const caffe::LayerParameter& layer);   // or a default constructor
///     SlopeFrom slope_from() const;                           // what the derivative is computed from
///     ROBUSTA_GPU T value(T x) const;                         // f(x)
///     ROBUSTA_GPU T slope(T s) const;                         // the derivative, from x or y; any s when constant
///     template <typename Body>                                // optional: calls body(f) with an f that does the same
///     void with_branchless(const Body& body) const;           // without branches on fields, for vectorised loops
///   };
#pragma once

#include "layers/kit/booking.h"
#include "layers/kit/elementwise.h"
#include "layers/kit/in_place.h"
#include "layers/kit/make_formula.h"
#include "layers/kit/math.h"

namespace robusta {

/// What the derivative of a function is computed from.
enum class SlopeFrom { kNothing, kBottom, kTop };

/// One bottom, one top of its shape.
class ElementwiseLayer : public Layer {
 public:
  using Layer::Layer;
  Arity arity() const override { return {}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override { return bottoms; }
};

/// A function of single elements whose derivative is computed from its result.
class ResultLayer : public ElementwiseLayer, public ReadsItsBlob {
 public:
  using ElementwiseLayer::ElementwiseLayer;
  BackwardRead backward_read() const override { return {.top = true, .needs = Content::kAll}; }
};

/// What slope() is computed from; any valid memory where it needs nothing.
inline const void* slope_argument(SlopeFrom from, const KernelRun& run) {
  if (from == SlopeFrom::kNothing) return run.top_diffs[0].data;
  return from == SlopeFrom::kTop ? run.tops[0].data : run.bottoms[0].data;
}

inline void book_unary(SlopeFrom from, Booking& booking) {
  book_reads(from == SlopeFrom::kBottom, from == SlopeFrom::kTop, booking);
  book_in_place(booking);
}

/// Whether the padding of blocked layouts, which is zero, stays zero in both directions.
template <typename Formula>
bool keeps_zero(const Formula& f) {
  return f.value(0) == 0 && std::isfinite(f.slope(0));
}

/// Plain tensors of f32 or f64. `Formula`: over ExactMath<T>.
template <typename T, typename Formula>
class UnaryReference : public Kernel {
 public:
  explicit UnaryReference(const KernelRequest& request) : f_(make_formula<Formula>(request)) {
    book_unary(f_.slope_from(), booking_);
  }
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
  Formula f_;
};

namespace host_detail {

// Not `restrict`: the planner may have put result and argument into the same memory, element upon element.
template <typename Formula, typename Stored>
ROBUSTA_SIMD void map_values(Formula f, const Stored* x, Stored* y, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) assign(f.value(static_cast<float>(x[i])), y[i]);
}

template <typename Formula, typename Stored>
ROBUSTA_SIMD void map_slopes(Formula f, const Stored* s, const Stored* dy, Stored* dx, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    assign(static_cast<float>(dy[i]) * f.slope(static_cast<float>(s[i])), dx[i]);
  }
}

template <typename Formula, typename Body>
void with_branchless(const Formula& f, const Body& body) {
  if constexpr (requires { f.with_branchless(body); }) {
    f.with_branchless(body);
  } else {
    body(f);
  }
}

}  // namespace host_detail

/// f32 or bf16 in any layout, with vectorised loops. `Formula`: over VectorMath.
template <typename Formula, typename Stored>
class UnaryNative : public Kernel {
 public:
  explicit UnaryNative(const KernelRequest& request) : f_(make_formula<Formula>(request)) {
    count_ = book_shared_layout(request, keeps_zero(f_), booking_);
    book_unary(f_.slope_from(), booking_);
  }
  std::string describe() const override { return "native"; }

  void forward(const KernelRun& run) override {
    const Stored* x = run.bottoms[0].as<Stored>();
    Stored* y = run.tops[0].as<Stored>();
    host_detail::with_branchless(f_, [=, this](const auto& f) {
      parallel_ranges(count_, kElementwiseGrain, [=](int64_t begin, int64_t end) {
        host_detail::map_values(f, x + begin, y + begin, end - begin);
      });
    });
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    const Stored* s = static_cast<const Stored*>(slope_argument(f_.slope_from(), run));
    const Stored* dy = run.top_diffs[0].as<Stored>();
    Stored* dx = run.bottom_diffs[0].as<Stored>();
    host_detail::with_branchless(f_, [=, this](const auto& f) {
      parallel_ranges(count_, kElementwiseGrain, [=](int64_t begin, int64_t end) {
        host_detail::map_slopes(f, s + begin, dy + begin, dx + begin, end - begin);
      });
    });
  }

 private:
  Formula f_;
  int64_t count_;
};

/// Factories for registering.
template <template <typename> class Formula>
std::unique_ptr<Kernel> make_unary_reference(const KernelRequest& request, std::string&) {
  return dispatch(request.dtype(), [&](auto t) -> std::unique_ptr<Kernel> {
    using T = decltype(t);
    return std::make_unique<UnaryReference<T, Formula<ExactMath<T>>>>(request);
  });
}

template <template <typename> class Formula>
std::unique_ptr<Kernel> make_unary_native(const KernelRequest& request, std::string& why_not) {
  if (!is_f32_or_bf16(request, why_not)) return nullptr;
  return with_f32_or_bf16(request.dtype(), [&](auto stored) -> std::unique_ptr<Kernel> {
    return std::make_unique<UnaryNative<Formula<VectorMath>, decltype(stored)>>(request);
  });
}

}  // namespace robusta
