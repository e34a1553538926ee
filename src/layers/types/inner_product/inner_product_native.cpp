// InnerProduct on plain f32 arrays: each of its products by the fastest of the libraries and of our own ways for few
// rows, and biases added and summed by vectorised loops.

#include <array>

#include "base/str.h"
#include "layers/kit/channel_rows.h"
#include "layers/kit/elementwise.h"
#include "layers/types/inner_product/few_rows.h"
#include "layers/types/inner_product/inner_product_products.h"
#include "layers/types/inner_product/rows_as_columns.h"

namespace robusta {
namespace {

/// Large enough to be timed: some of many rows, with which the time goes, and a part of the outputs whose weights no
/// cache holds. The whole of VGG-16's fc6 would be 400 MB.
InnerProductSize timed_part(InnerProductSize size) {
  constexpr int64_t kMostWeights = int64_t{1} << 24, kMostRows = 512;
  size.rows = std::min(size.rows, kMostRows);
  size.outputs = std::min(size.outputs, std::max<int64_t>(kMostWeights / size.inputs, 1));
  return size;
}

/// The ways to go forward, best guess first.
std::vector<const ProductWay*> forward_ways(const InnerProductSize& size) {
  static const FewRows few_rows;
  static const RowsAsColumns columns;
  std::vector<const ProductWay*> ways;
  if (!size.transposed && pays_for_few_rows(size.rows, size.inputs)) ways.push_back(&few_rows);
  const auto libraries = product_libraries();
  ways.insert(ways.end(), libraries.begin(), libraries.end());
  if (!size.transposed && size.rows <= kMostColumns) {
    ways.insert(pays_for_columns(size.rows, size.inputs) ? ways.begin() : ways.end(), &columns);
  }
  return ways;
}

class InnerProductNative : public InnerProductProducts<float> {
 public:
  explicit InnerProductNative(const KernelRequest& request) : InnerProductProducts(request) {
    choose(InnerProductStep::kForward, forward_ways(size_), request.tuner);
    booking_.forward_scratch = way(InnerProductStep::kForward).scratch_bytes(shape(InnerProductStep::kForward));
    if (!request.backward) return;
    if (request.bottom_grads[0]) choose(InnerProductStep::kDataGradient, product_libraries(), request.tuner);
    if (request.param_grads[0]) choose(InnerProductStep::kWeightGradient, product_libraries(), request.tuner);
  }

  std::string describe() const override {
    std::string text = "native gemm " + way(InnerProductStep::kForward).name();
    for (const ProductWay* back : std::span(ways_).subspan(1)) text += back ? " / " + back->name() : "";
    return text;
  }

  void forward(const KernelRun& run) override {
    float* y = run.tops[0].as<float>();
    const float *x = run.bottoms[0].as<float>(), *w = run.params[0]->tensor().as<float>();
    multiply(InnerProductStep::kForward, x, w, false, y, run.scratch);
    if (run.params.size() > 1) bias_rows().affine(y, nullptr, run.params[1]->tensor().as<float>(), y);
  }

 private:
  void choose(InnerProductStep step, std::span<const ProductWay* const> ways, Tuner* tuner) {
    // Steps of one shape have other ways to choose from.
    constexpr const char* kNames[] = {"y", "dx", "dw"};
    const std::string key = str("sgemm/", kNames[static_cast<size_t>(step)], "/", shape(step).key());
    ways_[static_cast<size_t>(step)] = &fastest_product(key, product_shape(timed_part(size_), step), ways, tuner);
  }
  ProductShape shape(InnerProductStep step) const { return product_shape(size_, step); }
  const ProductWay& way(InnerProductStep step) const { return *ways_[static_cast<size_t>(step)]; }

  void multiply(InnerProductStep step, const float* a, const float* b, bool add, float* c,
                void* scratch) const override {
    way(step).run(shape(step), a, b, add, c, scratch);
  }
  void bias_gradient(const float* dy, bool add, float* db) const override { bias_rows().sum(dy, add, db); }
  ChannelRows bias_rows() const { return {size_.rows, size_.outputs, 1}; }

  std::array<const ProductWay*, 3> ways_ = {};  ///< by step; null: that step is not wanted
};

std::unique_ptr<Kernel> make_inner_product_native(const KernelRequest& request, std::string& why_not) {
  if (!is_f32(request, why_not)) return nullptr;
  if (request.layer<InnerProductLayer>().group()) {
    why_not = "outputs shared out among ranks are the reference's";
    return nullptr;
  }
  if (request.layer<InnerProductLayer>().normalizes()) {
    why_not = "normalize is the reference's";
    return nullptr;
  }
  return std::make_unique<InnerProductNative>(request);
}

}  // namespace

ROBUSTA_REGISTER_KERNEL("InnerProduct", "native", 10, make_inner_product_native);

}  // namespace robusta
