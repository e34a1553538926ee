// Hands the memory of a run to a plugin's kernel. Views are made with the kernel, so that a pass only writes addresses.

#include "api/plugin/plugin_kernel.h"

#include <algorithm>
#include <cstring>

#include "api/plugin/border.h"

namespace robusta::v1 {
namespace {

constexpr size_t kMostBytes = size_t{1} << 43;  // as much as the largest array has (check_extents)

std::vector<TensorView> views_of(const std::vector<TensorDesc>& descs, robusta::DType type) {
  std::vector<TensorView> views;
  for (const TensorDesc& desc : descs)
    views.push_back(plain_view(nullptr, static_cast<DType>(type), desc.shape.dims()));
  return views;
}

/// Forward has no gradients: their views stay without memory.
void place(std::vector<TensorView>& views, std::span<const Tensor> tensors) {
  for (size_t i = 0; i < views.size(); ++i) views[i].data = i < tensors.size() ? tensors[i].data : nullptr;
}

}  // namespace

PluginKernel::PluginKernel(const robusta::KernelRequest& request, std::shared_ptr<v1::Kernel> kernel, std::string name)
    : kernel_(std::move(kernel)),
      name_(std::move(name)),
      bottoms_(views_of(request.bottoms, request.dtype())),
      tops_(views_of(request.tops, request.dtype())),
      bottom_gradients_(bottoms_),
      top_gradients_(tops_),
      learns_(request.param_grads) {
  for (const TensorDesc& param : request.params) {
    parameters_.push_back(plain_view(nullptr, static_cast<DType>(param.dtype), param.shape.dims()));
  }
  parameter_gradients_ = parameters_;
  book(in_plugin([&] { return kernel_->needs(); }), request);
}

void PluginKernel::book(const Needs& needs, const robusta::KernelRequest& request) {
  if (needs.saved_bytes > kMostBytes || needs.scratch_bytes > kMostBytes) {
    throw plugin_error(str("it needs ", std::max(needs.saved_bytes, needs.scratch_bytes), " bytes"));
  }
  booking_.reads_bottoms.assign(request.bottoms.size(), needs.backward_reads_bottoms);
  booking_.reads_tops.assign(request.tops.size(), needs.backward_reads_tops);
  booking_.saved_bytes = needs.saved_bytes;
  booking_.forward_scratch = booking_.backward_scratch = needs.scratch_bytes;
  booking_.host_work = true;  // the plugin may look at the pass, or count its runs
  if (!needs.in_place) return;
  if (request.bottoms.empty() || request.tops.empty())
    throw plugin_error("it works in place, and has no bottom or no top");
  booking_.forward_aliases = {{0, 0, false}};
  booking_.backward_aliases = {{0, 0, false}};
}

KernelCall PluginKernel::call(const KernelRun& run) {
  place(bottoms_, run.bottoms);
  place(tops_, run.tops);
  place(bottom_gradients_, run.bottom_diffs);
  place(top_gradients_, run.top_diffs);
  for (size_t i = 0; i < parameters_.size(); ++i) {
    parameters_[i].data = run.params[i]->data;
    parameter_gradients_[i].data = learns_[i] ? run.params[i]->diff : nullptr;
  }
  return {.bottoms = bottoms_,
          .tops = tops_,
          .bottom_gradients = bottom_gradients_,
          .top_gradients = top_gradients_,
          .parameters = parameters_,
          .parameter_gradients = parameter_gradients_,
          .saved = run.saved,
          .scratch = run.scratch,
          .seed = run.pass->seed,
          .first_sample = run.pass->first_sample,
          .batch = run.pass->batch,
          .stream = run.stream ? run.stream->native() : nullptr};
}

void PluginKernel::forward(const KernelRun& run) {
  in_plugin([&] { kernel_->forward(call(run)); });
}

void PluginKernel::backward(const KernelRun& run) {
  clear_gradients(run);
  in_plugin([&] { kernel_->backward(call(run)); });
}

/// So that the plugin always adds.
void PluginKernel::clear_gradients(const KernelRun& run) {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (!learns_[i] || run.accumulate[i]) continue;
    const size_t bytes = run.params[i]->desc.bytes();
    run.stream ? run.stream->fill_zero(run.params[i]->diff, bytes)
               : static_cast<void>(std::memset(run.params[i]->diff, 0, bytes));
  }
}

}  // namespace robusta::v1
