// Reduction on the GPU: a block for each row, or, for few long rows, several parts of each.
//
// Sums are f32, whatever the bottom is stored as: they often are losses.

#include "device/gpu/divisor.h"
#include "device/gpu/reduce.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/types/reduction/reduction.h"

namespace robusta {
namespace {

/// Terms of part `row` % parts of row `row` / parts.
template <typename T>
struct ReductionParts {
  using Sum = double;
  ReductionOp op;
  const T* x;
  int64_t columns, length;
  Divisor by_parts;
  double* sums;
  ROBUSTA_GPU Sum zero() const { return 0; }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const { return a + b; }
  ROBUSTA_GPU Sum term(int64_t row, int64_t col) const {
    const int64_t part = by_parts.take_off(row), i = part * length + col;
    return i < columns ? static_cast<Sum>(reduced(op, static_cast<float>(x[row * columns + i]))) : 0;
  }
  ROBUSTA_GPU void store(int64_t row, Sum sum) const { sums[row] = sum; }
};

struct ReductionSums {
  using Sum = double;
  const double* partial;
  int64_t parts;
  double factor;
  float* y;
  ROBUSTA_GPU Sum zero() const { return 0; }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const { return a + b; }
  ROBUSTA_GPU Sum term(int64_t row, int64_t part) const { return partial[row * parts + part]; }
  ROBUSTA_GPU void store(int64_t row, Sum sum) const { y[row] = static_cast<float>(sum * factor); }
};

/// x null: it does not matter.
template <typename T>
struct ReductionGradient {
  ReductionOp op;
  Divisor by_columns;
  float factor;
  const T* x;
  const float* dy;
  T* dx;
  ROBUSTA_GPU void operator()(int64_t i) const {
    const float slope = x ? reduced_slope(op, static_cast<float>(x[i])) : 1.0f;
    dx[i] = static_cast<T>(factor * dy[by_columns.quotient(i)] * slope);
  }
};

template <typename T>
class ReductionGpu : public Kernel {
 public:
  explicit ReductionGpu(const KernelRequest& request) : layer_(request.layer<ReductionLayer>()) {
    book_scores<T>(request, booking_);
    book_reduction(layer_.op(), booking_);
    constexpr int64_t kEnoughRows = 512, kPart = 4096;
    if (layer_.rows() < kEnoughRows) parts_ = std::min<int64_t>((layer_.columns() + kPart - 1) / kPart, kEnoughRows);
    booking_.forward_scratch = static_cast<size_t>(layer_.rows() * parts_) * sizeof(double);
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    auto* partial = static_cast<double*>(run.scratch);
    const int64_t length = (layer_.columns() + parts_ - 1) / parts_;
    reduce_rows(run.stream, layer_.rows() * parts_, length,
                ReductionParts<T>{.op = layer_.op(),
                                  .x = run.bottoms[0].as<T>(),
                                  .columns = layer_.columns(),
                                  .length = length,
                                  .by_parts = Divisor(parts_),
                                  .sums = partial});
    reduce_rows(run.stream, layer_.rows(), parts_,
                ReductionSums{partial, parts_, layer_.factor(), run.tops[0].as<float>()});
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    for_each(run.stream, layer_.rows() * layer_.columns(),
             ReductionGradient<T>{.op = layer_.op(),
                                  .by_columns = Divisor(layer_.columns()),
                                  .factor = static_cast<float>(layer_.factor()),
                                  .x = run.bottoms[0].as<T>(),
                                  .dy = run.top_diffs[0].as<float>(),
                                  .dx = run.bottom_diffs[0].as<T>()});
  }

 private:
  const ReductionLayer& layer_;
  int64_t parts_ = 1;
};

}  // namespace

ROBUSTA_REGISTER_GPU_AS_BOTTOM("Reduction", ReductionGpu);

}  // namespace robusta
