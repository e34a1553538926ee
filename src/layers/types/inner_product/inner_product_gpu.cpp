// InnerProduct on the GPU, on plain arrays: three matrix products, and kernels of our own for the bias.
//
// Activations may be stored in 16 bits, weights and their gradients are f32: the weights are rounded for a pass
// (weights.h), and the product for their gradient is summed and written in f32. With `normalize` all is f32.

#include <algorithm>

#include "layers/backends/gpu/channels.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/backends/gpu/row_lengths.h"
#include "layers/backends/gpu/unary.h"
#include "layers/backends/gpu/weights.h"
#include "layers/kit/changes_params.h"
#include "layers/types/inner_product/inner_product.h"
#include "ops/gemm_gpu.h"

namespace robusta {
namespace {

template <typename T>
class InnerProductGpu : public Kernel {
 public:
  explicit InnerProductGpu(const KernelRequest& request) : size_(request.layer<InnerProductLayer>().size()) {
    // Only the gradient of the weights needs the bottom.
    booking_.reads_bottoms = {request.backward && request.param_grads[0]};
    book_stored_weights<T>(size_.inputs * size_.outputs, booking_);
    booking_.forward_scratch = stored_weights_bytes<T>(size_.inputs * size_.outputs);
    booking_.backward_scratch = std::max(booking_.forward_scratch, channel_sums_scratch<ChannelDot<T>>(view()));
  }
  std::string describe() const override { return "gpu gemm"; }

  void forward(const KernelRun& run) override { product(run, weights(run)); }

  void backward(const KernelRun& run) override {
    float* dw = run.params[0]->learns ? run.params[0]->gradient().as<float>() : nullptr;
    gradients_of_parameters(run, run.accumulate[0] != 0, dw);
    if (run.bottom_diffs[0]) gradient_of_bottom(run, weights(run));
  }

 protected:
  void product(const KernelRun& run, const T* w) const {
    T* y = run.tops[0].as<T>();
    gpu_gemm(run.stream, Op::kPlain, size_.transposed ? Op::kPlain : Op::kTransposed, size_.rows, size_.outputs,
             size_.inputs, 1.0f, run.bottoms[0].as<T>(), w, 0.0f, y);
    if (run.params.size() < 2) return;
    channel_affine<T>(run.stream, view(), y, nullptr, run.params[1]->tensor().as<float>(), y);
  }

  /// That of the weights is written to dw, unless that is null, on top of what is there if `add`.
  void gradients_of_parameters(const KernelRun& run, bool add, float* dw) const {
    const T* dy = run.top_diffs[0].as<T>();
    if (dw) gradient_of_weights(run, dy, add ? 1.0f : 0.0f, dw);
    if (run.params.size() < 2 || !run.params[1]->learns) return;
    channel_sums(run.stream, view(), run.scratch,
                 ChannelDot<T>{dy, nullptr, run.params[1]->gradient().as<float>(), run.accumulate[1] != 0});
  }

  void gradient_of_bottom(const KernelRun& run, const T* w) const {
    gpu_gemm(run.stream, Op::kPlain, size_.transposed ? Op::kTransposed : Op::kPlain, size_.rows, size_.inputs,
             size_.outputs, 1.0f, run.top_diffs[0].as<T>(), w, 0.0f, run.bottom_diffs[0].as<T>());
  }

  const InnerProductSize size_;

 private:
  /// Of the top: outputs are channels, side by side.
  ChannelView view() const { return {size_.rows, size_.outputs, 1}; }

  /// In the type of the activations, as a product takes both factors in one type.
  const T* weights(const KernelRun& run) const {
    return weights_of_run<T>(run, size_.inputs * size_.outputs, run.scratch);
  }

  /// dW = dy^T x, or its transpose, + beta dW.
  void gradient_of_weights(const KernelRun& run, const T* dy, float beta, float* dw) const {
    const T* x = run.bottoms[0].as<T>();
    if (size_.transposed) {
      gpu_gemm(run.stream, Op::kTransposed, Op::kPlain, size_.inputs, size_.outputs, size_.rows, 1.0f, x, dy, beta, dw);
    } else {
      gpu_gemm(run.stream, Op::kTransposed, Op::kPlain, size_.outputs, size_.inputs, size_.rows, 1.0f, dy, x, beta, dw);
    }
  }
};

struct DivideRow {
  Divisor by_inputs;
  const float *w, *lengths;
  float* rows;
  ROBUSTA_GPU void operator()(int64_t i) const { rows[i] = w[i] / lengths[by_inputs.quotient(i)]; }
};

/// A body of reduce_rows: how far g goes along its row.
struct AlongRow {
  using Sum = float;
  const float *rows, *g;
  int64_t inputs;
  float* along;
  ROBUSTA_GPU Sum zero() const { return 0; }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const { return a + b; }
  ROBUSTA_GPU Sum term(int64_t row, int64_t k) const { return rows[row * inputs + k] * g[row * inputs + k]; }
  ROBUSTA_GPU void store(int64_t row, Sum sum) const { along[row] = sum; }
};

struct BackToWeights {
  Divisor by_inputs;
  bool add;
  const float *rows, *g, *lengths, *along;
  float* dw;
  ROBUSTA_GPU void operator()(int64_t i) const {
    const int64_t row = by_inputs.quotient(i);
    const float d = (g[i] - along[row] * rows[i]) / lengths[row];
    dw[i] = add ? dw[i] + d : d;
  }
};

/// Of rows of length 1, which lie in scratch memory where the weights stay as they are. Everything is f32: 16 bits
/// would turn the angles. Scratch, behind what the sums need: lengths, how far g goes along the rows, rows, g.
class NormalizedInnerProductGpu : public InnerProductGpu<float>, public ChangesParams {
 public:
  explicit NormalizedInnerProductGpu(const KernelRequest& request)
      : InnerProductGpu<float>(request),
        writes_back_(request.layer<InnerProductLayer>().training()),
        before_(align_up(booking_.backward_scratch)) {
    booking_.bottom_types = booking_.top_types = {DType::kF32};
    const auto floats = static_cast<size_t>(2 * size_.outputs + (request.backward ? 2 : 1) * count());
    booking_.forward_scratch = before_ + floats * sizeof(float);
    booking_.backward_scratch = booking_.forward_scratch;
  }
  std::string describe() const override { return "gpu gemm of normalized rows"; }
  bool changes_params() const override { return writes_back_; }

  void forward(const KernelRun& run) override {
    float* w = run.params[0]->tensor().as<float>();
    float* rows = writes_back_ ? w : rows_of(run);
    normalize(run, w, rows);
    if (writes_back_) ++run.params[0]->version;
    product(run, rows);
  }

  void backward(const KernelRun& run) override {
    float *rows = rows_of(run), *g = rows + count(), *lengths = lengths_of(run), *along = lengths + size_.outputs;
    const bool learns = run.params[0]->learns;
    gradients_of_parameters(run, false, learns ? g : nullptr);
    normalize(run, run.params[0]->tensor().as<float>(), rows);
    if (run.bottom_diffs[0]) gradient_of_bottom(run, rows);
    if (!learns) return;
    reduce_rows(run.stream, size_.outputs, size_.inputs, AlongRow{rows, g, size_.inputs, along});
    for_each(run.stream, count(),
             BackToWeights{.by_inputs = Divisor(size_.inputs),
                           .add = run.accumulate[0] != 0,
                           .rows = rows,
                           .g = g,
                           .lengths = lengths,
                           .along = along,
                           .dw = run.params[0]->gradient().as<float>()});
  }

 private:
  int64_t count() const { return size_.outputs * size_.inputs; }
  float* lengths_of(const KernelRun& run) const {
    return reinterpret_cast<float*>(static_cast<char*>(run.scratch) + before_);
  }
  float* rows_of(const KernelRun& run) const { return lengths_of(run) + 2 * size_.outputs; }

  void normalize(const KernelRun& run, const float* w, float* rows) const {
    float* lengths = lengths_of(run);
    reduce_rows(run.stream, size_.outputs, size_.inputs, RowLengths{w, size_.inputs, lengths, 1});
    for_each(run.stream, count(), DivideRow{Divisor(size_.inputs), w, lengths, rows});
  }

  const bool writes_back_;
  const size_t before_;
};

std::unique_ptr<Kernel> make_inner_product_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  if (request.layer<InnerProductLayer>().normalizes()) return std::make_unique<NormalizedInnerProductGpu>(request);
  return make_stored<InnerProductGpu>(request);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("InnerProduct", "gpu", 10, make_inner_product_gpu);

}  // namespace robusta
