// Arrays on their way to the layer's code and back, and the kernel for processors.

#include "api/host/host_kernel.h"

#include <cstring>

#include "api/host/element_types.h"
#include "layers/kit/booking.h"

namespace robusta::v1 {

/// Arrays, and views of them.
struct HostKernel::Fetched {
  std::vector<std::vector<float>> arrays;
  std::vector<TensorView> views;

  void add(std::vector<float> numbers, const robusta::Shape& shape) {
    arrays.push_back(std::move(numbers));
    views.push_back(plain_view(arrays.back().data(), DType::kF32, shape.dims()));
  }
  void add_zeros(const robusta::Shape& shape) { add(std::vector<float>(static_cast<size_t>(shape.count())), shape); }
  void add_nothing(const robusta::Shape& shape) {
    arrays.emplace_back();
    views.push_back(plain_view(nullptr, DType::kF32, shape.dims()));
  }
};

HostKernel::HostKernel(const robusta::KernelRequest& request)
    : layer_(request.layer<HostNode>()), learns_(request.param_grads) {
  book_reads_nothing(request.bottoms.size(), booking_);
  booking_.host_work = true;
}

HostKernel::Fetched HostKernel::fetched_parameters(const KernelRun& run) const {
  Fetched found;
  for (const Param* param : run.params) found.add(fetch(run.stream, param->tensor()), param->desc.shape);
  return found;
}

/// The layer's code may change its parameters: running means, centres of classes.
void HostKernel::store_changed(const KernelRun& run, const Fetched& now,
                               const std::vector<std::vector<float>>& before) const {
  for (size_t i = 0; i < run.params.size(); ++i) {
    const std::vector<float>& numbers = now.arrays[i];
    if (std::memcmp(numbers.data(), before[i].data(), numbers.size() * sizeof(float)) == 0) continue;
    store(run.stream, numbers, run.params[i]->tensor());
    ++run.params[i]->version;
  }
}

void HostKernel::forward(const KernelRun& run) {
  Fetched bottoms;
  if (!layer_.computes_early()) {
    for (const Tensor& bottom : run.bottoms) bottoms.add(fetch(run.stream, bottom), bottom.shape());
  }
  const Fetched parameters = fetched_parameters(run);
  const std::vector<std::vector<float>> before = parameters.arrays;
  const std::vector<TensorView> tops = layer_.tops_of({.bottoms = bottoms.views, .parameters = parameters.views});
  require_planned(tops, run.tops);
  for (size_t i = 0; i < run.tops.size(); ++i) store(run.stream, tops[i].elements<float>(), run.tops[i]);
  store_changed(run, parameters, before);
}

void HostKernel::backward(const KernelRun& run) {
  Fetched slopes, wanted, learned;
  const Fetched parameters = fetched_parameters(run);
  const std::vector<std::vector<float>> before = parameters.arrays;
  for (const Tensor& slope : run.top_diffs) slopes.add(fetch(run.stream, slope), slope.shape());
  for (const Tensor& bottom : run.bottom_diffs) {
    bottom ? wanted.add_zeros(bottom.shape()) : wanted.add_nothing(bottom.shape());
  }
  for (size_t i = 0; i < run.params.size(); ++i) {
    const robusta::Shape& shape = run.params[i]->desc.shape;
    if (!learns_[i]) {
      learned.add_nothing(shape);
    } else if (run.accumulate[i]) {
      learned.add(fetch(run.stream, run.params[i]->gradient()), shape);
    } else {
      learned.add_zeros(shape);
    }
  }
  layer_.own()->backward({.parameters = parameters.views,
                          .top_gradients = slopes.views,
                          .bottom_gradients = wanted.views,
                          .parameter_gradients = learned.views});
  for (size_t i = 0; i < run.bottom_diffs.size(); ++i) {
    if (run.bottom_diffs[i]) store(run.stream, wanted.arrays[i], run.bottom_diffs[i]);
  }
  for (size_t i = 0; i < run.params.size(); ++i) {
    if (learns_[i]) store(run.stream, learned.arrays[i], run.params[i]->gradient());
  }
  store_changed(run, parameters, before);
}

namespace {

class HostReference : public HostKernel {
 public:
  using HostKernel::HostKernel;

 private:
  std::vector<float> fetch(Stream*, const Tensor& from) const override { return to_floats(from); }
  void store(Stream*, std::span<const float> numbers, const Tensor& to) const override { from_floats(numbers, to); }
};

std::unique_ptr<robusta::Kernel> make_python_reference(const robusta::KernelRequest& request, std::string&) {
  return std::make_unique<HostReference>(request);
}

const bool registered_python_reference =
    robusta::register_kernel({"Python", "reference", "cpu", 0, make_python_reference});

}  // namespace
}  // namespace robusta::v1
