// LargeMarginInnerProduct and MarginInnerProduct on the GPU: three matrix products, a thread for each label, and one
// for each element that a label adds to. Everything is f32: 16 bits would turn the angles.

#include <algorithm>

#include "layers/backends/gpu/elementwise.h"
#include "layers/backends/gpu/picked_rows.h"
#include "layers/backends/gpu/row_lengths.h"
#include "layers/backends/gpu/unary.h"
#include "layers/kit/changes_params.h"
#include "layers/types/margin_inner_product/margin_inner_product.h"
#include "ops/gemm_gpu.h"

namespace robusta {
namespace {

using GpuMarginRule = MarginRule<GpuMath>;
using GpuMarginMemory = MarginMemory<float>;

/// Element i divided by the length of its row, or of its column. Zeros stay.
struct DivideByLength {
  Divisor by_width;
  bool of_columns;
  const float* lengths;
  float* values;
  ROBUSTA_GPU void operator()(int64_t i) const {
    int64_t row = i;
    const int64_t column = by_width.take_off(row);
    const float length = lengths[of_columns ? column : row];
    if (length > 0) values[i] /= length;
  }
};

struct SetToOne {
  float* lengths;
  ROBUSTA_GPU void operator()(int64_t i) const {
    if (lengths[i] > 0) lengths[i] = 1;
  }
};

/// The position of the pass lies in device memory, as recorded passes see only that change.
struct SetLambda {
  GpuMarginRule rule;
  const uint64_t* first_sample;
  uint64_t between;
  float *lambda, *top;
  ROBUSTA_GPU void operator()(int64_t) const {
    *lambda = rule.lambda(static_cast<float>(*first_sample / between));
    if (top) *top = *lambda;
  }
};

/// What is known of the labels of one run.
struct LabelAngles {
  GpuMarginRule rule;
  LabelReader label;
  GpuMarginMemory memory;
  int64_t classes;
  ROBUSTA_GPU void by_x(int64_t n, int own, float& of_w, float& of_x) const {
    rule.by_x(memory.products[n], memory.x[n], memory.w[own], *memory.lambda, of_w, of_x);
  }
  ROBUSTA_GPU void by_w(int64_t n, int own, float& of_x, float& of_w) const {
    rule.by_w(memory.products[n], memory.x[n], memory.w[own], *memory.lambda, of_x, of_w);
  }
};

struct ChangeLabelScore {
  LabelAngles angles;
  float* y;
  ROBUSTA_GPU void operator()(int64_t n) const {
    const int own = angles.label(n);
    if (own < 0) return;
    float& score = y[n * angles.classes + own];
    angles.memory.products[n] = score;
    score = angles.rule.score(score, angles.memory.x[n], angles.memory.w[own], *angles.memory.lambda);
  }
};

/// What comes back for the scores, that of the label times its share of w, or of x.
struct WeighScores {
  LabelAngles angles;
  Divisor by_classes;
  bool for_weights;
  const float* dy;
  float* g;
  ROBUSTA_GPU void operator()(int64_t i) const {
    int64_t n = i;
    const int64_t c = by_classes.take_off(n);
    const int own = angles.label(n);
    float share = 1, rest = 0;
    if (own == c && for_weights) angles.by_w(n, own, share, rest);
    if (own == c && !for_weights) angles.by_x(n, own, share, rest);
    g[i] = dy[i] * share;
  }
};

/// dx += x times what the label says.
struct AddSamples {
  LabelAngles angles;
  Divisor by_inputs;
  const float *dy, *x;
  float* dx;
  ROBUSTA_GPU void operator()(int64_t i) const {
    const int64_t n = by_inputs.quotient(i);
    const int own = angles.label(n);
    if (own < 0) return;
    float of_w = 0, of_x = 0;
    angles.by_x(n, own, of_w, of_x);
    dx[i] += dy[n * angles.classes + own] * of_x * x[i];
  }
};

/// For each class, what its own samples multiply its weights by. They are linked (backends/gpu/picked_rows.h).
struct SumOwnShares {
  LabelAngles angles;
  const int64_t *first, *next;
  const float* dy;
  float* shares;
  ROBUSTA_GPU void operator()(int64_t c) const {
    double sum = 0;
    for (int64_t n = first[c]; n >= 0; n = next[n]) {
      float of_x = 0, of_w = 0;
      angles.by_w(n, static_cast<int>(c), of_x, of_w);
      sum += dy[n * angles.classes + c] * of_w;
    }
    shares[c] = static_cast<float>(sum);
  }
};

struct AddWeights {
  Divisor by_inputs;
  const float *shares, *w;
  float* dw;
  ROBUSTA_GPU void operator()(int64_t i) const { dw[i] += shares[by_inputs.quotient(i)] * w[i]; }
};

class MarginInnerProductGpu : public Kernel, public ChangesParams {
 public:
  explicit MarginInnerProductGpu(const KernelRequest& request)
      : layer_(request.layer<MarginInnerProductLayer>()),
        size_(layer_.size()),
        rule_(layer_),
        watch_(request, size_.classes, 1, std::nullopt) {
    booking_.bottom_types.assign(2, DType::kF32);
    booking_.top_types.assign(request.tops.size(), DType::kF32);
    booking_.reads_bottoms = {true, true};
    booking_.saved_bytes = GpuMarginMemory::bytes(size_);
    booking_.forward_scratch = reduce_all_scratch<detail::FirstBadPick>(size_.samples);
    booking_.backward_scratch = links_bytes() + static_cast<size_t>(scores() + size_.classes) * sizeof(float);
    booking_.reads_position = true;
  }
  std::string describe() const override { return "gpu gemm"; }
  bool changes_params() const override { return layer_.on_sphere() && layer_.training(); }

  void forward(const KernelRun& run) override {
    const float* x = run.bottoms[0].as<float>();
    float *w = run.params[0]->tensor().as<float>(), *y = run.tops[0].as<float>();
    const GpuMarginMemory memory(size_, run.saved);
    const LabelAngles angles = angles_of(run);
    reduce_all(run.stream, size_.samples, run.scratch, detail::FirstBadPick{angles.label});
    reduce_rows(run.stream, size_.samples, size_.inputs, RowLengths{x, size_.inputs, memory.x});
    reduce_rows(run.stream, size_.classes, size_.inputs, RowLengths{w, size_.inputs, memory.w});
    if (layer_.on_sphere() && layer_.training()) {
      for_each(run.stream, size_.classes * size_.inputs, DivideByLength{Divisor(size_.inputs), false, memory.w, w});
      ++run.params[0]->version;
    }
    float* top = run.tops.size() > 1 ? run.tops[1].as<float>() : nullptr;
    for_each(run.stream, 1, SetLambda{rule_, run.first_sample, samples_between(*run.pass), memory.lambda, top});
    gpu_gemm(run.stream, Op::kPlain, Op::kTransposed, size_.samples, size_.classes, size_.inputs, 1.0f, x,
             static_cast<const float*>(w), 0.0f, y);
    if (layer_.on_sphere() && !layer_.training()) {
      for_each(run.stream, scores(), DivideByLength{Divisor(size_.classes), true, memory.w, y});
    }
    if (layer_.on_sphere()) for_each(run.stream, size_.classes, SetToOne{memory.w});
    for_each(run.stream, size_.samples, ChangeLabelScore{angles, y});
  }

  void backward(const KernelRun& run) override {
    if (run.params[0]->learns) gradient_of_weights(run);
    if (run.bottom_diffs[0]) gradient_of_samples(run);
  }

  void check(const Pass& pass) override { watch_.check(pass); }

 private:
  int64_t scores() const { return size_.samples * size_.classes; }
  size_t links_bytes() const { return static_cast<size_t>(size_.classes + size_.samples) * sizeof(int64_t); }

  LabelAngles angles_of(const KernelRun& run) const {
    return {rule_, watch_.reader(run.bottoms[1].as<float>()), GpuMarginMemory(size_, run.saved), size_.classes};
  }

  const float* weighed(const KernelRun& run, bool for_weights) const {
    auto* g = reinterpret_cast<float*>(static_cast<char*>(run.scratch) + links_bytes());
    for_each(run.stream, scores(),
             WeighScores{.angles = angles_of(run),
                         .by_classes = Divisor(size_.classes),
                         .for_weights = for_weights,
                         .dy = run.top_diffs[0].as<float>(),
                         .g = g});
    return g;
  }

  void gradient_of_samples(const KernelRun& run) const {
    float* dx = run.bottom_diffs[0].as<float>();
    const float* w = run.params[0]->tensor().as<float>();
    gpu_gemm(run.stream, Op::kPlain, Op::kPlain, size_.samples, size_.inputs, size_.classes, 1.0f, weighed(run, false),
             w, 0.0f, dx);
    for_each(run.stream, size_.samples * size_.inputs,
             AddSamples{.angles = angles_of(run),
                        .by_inputs = Divisor(size_.inputs),
                        .dy = run.top_diffs[0].as<float>(),
                        .x = run.bottoms[0].as<float>(),
                        .dx = dx});
  }

  void gradient_of_weights(const KernelRun& run) const {
    const float *x = run.bottoms[0].as<float>(), *w = run.params[0]->tensor().as<float>();
    float* dw = run.params[0]->gradient().as<float>();
    gpu_gemm(run.stream, Op::kTransposed, Op::kPlain, size_.classes, size_.inputs, size_.samples, 1.0f,
             weighed(run, true), x, run.accumulate[0] ? 1.0f : 0.0f, dw);
    auto* first = static_cast<int64_t*>(run.scratch);
    int64_t* next = first + size_.classes;
    auto* shares = reinterpret_cast<float*>(next + size_.samples) + scores();
    const LabelAngles angles = angles_of(run);
    for_each(run.stream, std::min(detail::kPickThreads, size_.classes),
             detail::LinkPlaces{angles.label, size_.samples, size_.classes, first, next});
    for_each(run.stream, size_.classes, SumOwnShares{angles, first, next, run.top_diffs[0].as<float>(), shares});
    for_each(run.stream, size_.classes * size_.inputs, AddWeights{Divisor(size_.inputs), shares, w, dw});
  }

  const MarginInnerProductLayer& layer_;
  const MarginSize size_;
  GpuMarginRule rule_;
  LabelWatch watch_;
};

std::unique_ptr<Kernel> make_margin_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  return std::make_unique<MarginInnerProductGpu>(request);
}

[[maybe_unused]] const bool registered_margin_gpu =
    register_kernel({"MarginInnerProduct", "gpu", kGpuKind, 10, make_margin_gpu}) &&
    register_kernel({"LargeMarginInnerProduct", "gpu", kGpuKind, 10, make_margin_gpu});

}  // namespace

}  // namespace robusta
