/// Rows that are normalised (kit/row_norm.h) on the GPU: the sums of each row, then all elements; twice the same in
/// backward. For files named *_gpu.cpp.
#pragma once

#include "layers/backends/gpu/axis.h"
#include "layers/backends/gpu/channels.h"
#include "layers/kit/row_norm.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

struct RowSums {
  double first, second;
};

struct JoinRowSums {
  using Sum = RowSums;
  ROBUSTA_GPU Sum zero() const { return {0, 0}; }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const { return {a.first + b.first, a.second + b.second}; }
};

/// What all steps know.
template <typename T>
struct RowNormArrays {
  RowNorm norm;
  ClassIndex index;
  Divisor per_scale;
  const T* x;          ///< null in backward where the size is one and nothing is learned
  const float* scale;  ///< may be null: ones
  RowMoments<float>* moments;
  ROBUSTA_GPU float factor(int64_t c) const { return scale ? scale[per_scale.quotient(c)] : 1.0f; }
  ROBUSTA_GPU float value(int64_t i, RowMoments<float> m) const {
    return x ? (static_cast<float>(x[i]) - m.mean) * m.inverse : 0.0f;
  }
};

template <typename T>
struct RowNormMoments : JoinRowSums {
  RowNormArrays<T> of;
  ROBUSTA_GPU double origin(int64_t row) const {
    return of.norm.centred ? static_cast<double>(static_cast<float>(of.x[of.index.element(row, 0)])) : 0;
  }
  ROBUSTA_GPU Sum term(int64_t row, int64_t c) const {
    const double d = static_cast<double>(static_cast<float>(of.x[of.index.element(row, c)])) - origin(row);
    return {d, d * d};
  }
  ROBUSTA_GPU void store(int64_t row, Sum sum) const {
    of.moments[row] = row_moments<float>(of.norm, origin(row), sum.first, sum.second);
  }
};

template <typename T>
struct RowNormEach {
  RowNormArrays<T> of;
  T* y;
  ROBUSTA_GPU void operator()(int64_t i) const {
    int64_t row = i;
    const int64_t c = of.index.take_class(row);
    y[i] = static_cast<T>(of.value(i, of.moments[row]) * of.factor(c));
  }
};

/// The mean of g, or 0, and the weighted sum of g h of each row.
struct RowSlopes {
  float mean, by_value;  ///< what is subtracted from a gradient, for itself and for each h
};

template <typename T>
struct RowNormSlopes : JoinRowSums {
  RowNormArrays<T> of;
  const T* dy;
  RowSlopes* slopes;
  ROBUSTA_GPU Sum term(int64_t row, int64_t c) const {
    const int64_t i = of.index.element(row, c);
    const double g = static_cast<double>(static_cast<float>(dy[i]) * of.factor(c));
    return {g, g * static_cast<double>(of.value(i, of.moments[row]))};
  }
  ROBUSTA_GPU void store(int64_t row, Sum sum) const {
    const double mean = of.norm.centred ? sum.first / static_cast<double>(of.norm.view.classes) : 0;
    slopes[row] = {static_cast<float>(mean), static_cast<float>(of.moments[row].weight * sum.second)};
  }
};

/// dx may be dy.
template <typename T>
struct RowNormSlopeEach {
  RowNormArrays<T> of;
  const T* dy;
  const RowSlopes* slopes;
  T* dx;
  ROBUSTA_GPU void operator()(int64_t i) const {
    int64_t row = i;
    const int64_t c = of.index.take_class(row);
    const RowMoments<float> m = of.moments[row];
    const float g = static_cast<float>(dy[i]) * of.factor(c);
    dx[i] = static_cast<T>(m.inverse * (g - slopes[row].mean - of.value(i, m) * slopes[row].by_value));
  }
};

/// The gradient of the scale: for each element of it, the sum of dy h over all classes that share it, of all rows.
template <typename T>
struct RowNormScaleTerms {
  using Sum = double;
  RowNormArrays<T> of;
  const T* dy;
  float* gradient;
  bool adds;
  ROBUSTA_GPU Sum zero() const { return 0; }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const { return a + b; }
  ROBUSTA_GPU Sum of_element(int64_t row, int64_t c) const {
    const int64_t i = of.index.element(row, c);
    return static_cast<double>(static_cast<float>(dy[i]) * of.value(i, of.moments[row]));
  }
};

/// A scale for each of several groups of classes.
template <typename T>
struct RowNormScales : RowNormScaleTerms<T> {
  ROBUSTA_GPU double term(int64_t k, int64_t column) const {
    const int64_t within = this->of.per_scale.take_off(column);
    return this->of_element(column, k * this->of.norm.per_scale + within);
  }
  ROBUSTA_GPU void store(int64_t k, double sum) const { hand_over(sum, this->adds, this->gradient[k]); }
};

/// One scale for all.
template <typename T>
struct RowNormOneScale : RowNormScaleTerms<T> {
  ROBUSTA_GPU double term(int64_t i) const {
    int64_t row = i;
    this->of.index.take_class(row);
    return static_cast<double>(static_cast<float>(this->dy[i]) * this->of.value(i, this->of.moments[row]));
  }
  ROBUSTA_GPU void store(double sum) const { hand_over(sum, this->adds, *this->gradient); }
};

template <typename T>
class RowNormGpu : public Kernel {
 public:
  explicit RowNormGpu(const KernelRequest& request)
      : norm_(request.layer<RowNormLayer>().norm()), count_(request.bottoms[0].count()) {
    book_row_norm(request, sizeof(RowMoments<float>), booking_);
    const TensorDesc& bottom = request.bottoms[0];
    if (norm_.by_channel && is_channels_last(bottom.layout)) {
      booking_.bottom_layouts = booking_.top_layouts = {bottom.layout};
      norm_.view = AxisView(Shape{norm_.view.positions(), norm_.view.classes}, 1);
    }
    booking_.backward_scratch = std::max(static_cast<size_t>(norm_.view.positions()) * sizeof(RowSlopes),
                                         reduce_all_scratch<RowNormOneScale<T>>(count_));
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    const RowNormArrays<T> of = arrays(run, run.bottoms[0].as<T>());
    reduce_classes(run.stream, norm_.view, RowNormMoments<T>{{}, of});
    for_each(run.stream, count_, RowNormEach<T>{of, run.tops[0].as<T>()});
  }

  void backward(const KernelRun& run) override {
    const RowNormArrays<T> of = arrays(run, booking_.reads_bottoms[0] ? run.bottoms[0].as<T>() : nullptr);
    const T* dy = run.top_diffs[0].as<T>();
    // Before the gradient of the bottom, which may take the place of dy.
    if (norm_.scales > 0 && run.params[0]->learns) learn(run, of, dy);
    if (!run.bottom_diffs[0]) return;
    auto* slopes = static_cast<RowSlopes*>(run.scratch);
    reduce_classes(run.stream, norm_.view, RowNormSlopes<T>{{}, of, dy, slopes});
    for_each(run.stream, count_, RowNormSlopeEach<T>{of, dy, slopes, run.bottom_diffs[0].as<T>()});
  }

 private:
  RowNormArrays<T> arrays(const KernelRun& run, const T* x) const {
    return {.norm = norm_,
            .index = ClassIndex(norm_.view),
            .per_scale = Divisor(norm_.per_scale),
            .x = x,
            .scale = norm_.scales > 0 ? run.params[0]->tensor().template as<float>() : nullptr,
            .moments = static_cast<RowMoments<float>*>(run.saved)};
  }

  void learn(const KernelRun& run, const RowNormArrays<T>& of, const T* dy) const {
    const RowNormScaleTerms<T> terms{of, dy, run.params[0]->gradient().template as<float>(), run.accumulate[0] != 0};
    if (norm_.scales == 1) return reduce_all(run.stream, count_, run.scratch, RowNormOneScale<T>{terms});
    const int64_t columns = norm_.view.positions() * norm_.per_scale;
    reduce_rows(run.stream, norm_.scales, columns, RowNormScales<T>{terms});
  }

  RowNorm norm_;
  int64_t count_;
};

inline std::unique_ptr<Kernel> make_gpu_row_norm(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  return make_stored<RowNormGpu>(request);
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta

/// Registers it for a RowNormLayer's type: `ROBUSTA_REGISTER_GPU_ROW_NORM(MVN);`
#define ROBUSTA_REGISTER_GPU_ROW_NORM(type)                           \
  [[maybe_unused]] static const bool registered_gpu_row_norm_##type = \
      ::robusta::register_kernel({#type, "gpu", ::robusta::kGpuKind, 10, ::robusta::make_gpu_row_norm})
