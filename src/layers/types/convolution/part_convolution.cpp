// A layer with a part of the outputs, and of the groups, stands for the part; no net knows it.

#include "layers/types/convolution/part_convolution.h"

#include "base/str.h"

namespace robusta {
namespace {

/// Whole groups go to a part, or all parts read the one that there is.
caffe::LayerParameter part_of(const caffe::LayerParameter& whole, int parts) {
  caffe::LayerParameter part = whole;
  caffe::ConvolutionParameter& p = *part.mutable_convolution_param();
  const auto count = static_cast<uint32_t>(parts);
  p.set_num_output(p.num_output() / count);
  if (p.group() > 1) p.set_group(p.group() / count);
  p.set_axis(1);
  return part;
}

Shape with_rows(const Shape& whole, int64_t rows) {
  std::vector<int64_t> dims = whole.dims();
  dims[0] = rows;
  return Shape(dims);
}

}  // namespace

void PartConvolution::Side::from_plain(const TensorDesc& plain) {
  if (!desc.layout) return;
  enter = make_reorder(plain, desc);
  leave = make_reorder(desc, plain);
}

std::unique_ptr<PartConvolution> PartConvolution::make(const KernelRequest& request, const std::string& backend,
                                                       std::string& why_not) {
  std::unique_ptr<PartConvolution> part(
      new PartConvolution(request, *request.layer<ConvolutionLayer>().group()));  // NOLINT: a private constructor
  if (!part->choose(backend, why_not)) return nullptr;
  part->book();
  return part;
}

PartConvolution::PartConvolution(const KernelRequest& request, const ModelGroup& group)
    : part_(group.part()), parts_(group.parts()), pointers_{&params_[0], &params_[1]} {
  const auto& whole = request.layer<ConvolutionLayer>();
  const ConvolutionGeometry& geometry = whole.geometry();
  layer_ = make_layer(part_of(whole.param(), parts_));
  const int64_t channels = whole.parts_read_whole_bottom() ? geometry.channels : geometry.channels / parts_;
  std::vector<int64_t> dims{parts_ * geometry.batch, channels};
  for (const WindowAxis& axis : geometry.axes) dims.push_back(axis.in);
  const Shape bottom(dims), top = layer_->infer_tops({bottom})[0];
  request_ = request;
  request_.layers = {layer_.get()};
  request_.chain_bottoms = {-1};
  request_.bottoms = {{bottom, request.dtype(), nullptr}};
  request_.tops = {{top, request.dtype(), nullptr}};
  for (size_t i = 0; i < request_.params.size(); ++i) {
    TensorDesc& desc = request_.params[i];
    desc.shape = with_rows(desc.shape, desc.shape[0] / parts_);
    params_[i].desc = desc;
  }
}

bool PartConvolution::choose(const std::string& backend, std::string& why_not) {
  for (const KernelCandidate* candidate : kernel_candidates(request_.layers, "cpu")) {
    if (candidate->backend != backend) continue;
    kernel_ = candidate->factory(request_, why_not);
    if (kernel_) return true;
  }
  return false;
}

void PartConvolution::book() {
  const Booking& booking = kernel_->booking();
  const auto layout_of = [](const std::vector<Layout>& layouts) { return layouts.empty() ? nullptr : layouts[0]; };
  x_.desc = {request_.bottoms[0].shape, request_.dtype(), layout_of(booking.bottom_layouts)};
  y_.desc = {request_.tops[0].shape, request_.dtype(), layout_of(booking.top_layouts)};
  x_.from_plain(request_.bottoms[0]);
  y_.from_plain(request_.tops[0]);
  keeps_inputs_ = request_.backward && (booking.reads_bottoms.empty() || booking.reads_bottoms[0]);
  if (keeps_inputs_) saved_.add(x_.desc.bytes());
  kernel_saved_at_ = saved_.add(booking.saved_bytes);

  const size_t reorders = std::max(x_.scratch_bytes(), y_.scratch_bytes());
  if (x_.enter) plain_at_ = forward_.add(request_.bottoms[0].bytes());
  if (!keeps_inputs_) x_at_ = forward_.add(x_.desc.bytes());
  if (y_.leave) y_at_ = forward_.add(y_.desc.bytes());
  forward_at_ = forward_.add(std::max(booking.forward_scratch, reorders));

  if (y_.enter) dy_at_ = backward_.add(y_.desc.bytes());
  if (x_.leave) dx_at_ = backward_.add(x_.desc.bytes());
  backward_at_ = backward_.add(std::max(booking.backward_scratch, reorders));
}

void PartConvolution::point_at_part(const KernelRun& run) {
  const auto part_of = [this](void* whole, const TensorDesc& part) {
    return whole ? at_offset(whole, static_cast<size_t>(part_) * part.bytes()) : nullptr;
  };
  for (size_t i = 0; i < run.params.size(); ++i) {
    const Param& whole = *run.params[i];
    params_[i].data = part_of(whole.data, params_[i].desc);
    params_[i].diff = part_of(whole.diff, params_[i].desc);
    params_[i].version = whole.version;
    params_[i].learns = whole.learns;
  }
}

KernelRun PartConvolution::run_of(const KernelRun& run, void* saved, void* scratch) const {
  KernelRun part;
  part.params = {pointers_.data(), run.params.size()};
  part.accumulate = run.accumulate;
  part.saved = at_offset(saved, kernel_saved_at_);
  part.scratch = scratch;
  part.pass = run.pass;
  return part;
}

void PartConvolution::forward(const KernelRun& run, void* y, void* saved, void* scratch) {
  void* const work = at_offset(scratch, forward_at_);
  point_at_part(run);
  const Tensor x{x_.desc, keeps_inputs_ ? saved : at_offset(scratch, x_at_)};
  const Tensor top{y_.desc, y_.leave ? at_offset(scratch, y_at_) : y};
  if (x_.enter) x_.enter->run(input(saved, scratch), x.data, work);
  KernelRun part = run_of(run, saved, work);
  part.bottoms = {&x, 1};
  part.tops = {&top, 1};
  kernel_->forward(part);
  if (y_.leave) y_.leave->run(top.data, y, work);
}

void PartConvolution::backward(const KernelRun& run, void* dy, void* dx, void* saved, void* scratch) {
  void* const work = at_offset(scratch, backward_at_);
  point_at_part(run);
  const Tensor x{x_.desc, keeps_inputs_ ? saved : nullptr}, y{y_.desc, nullptr};
  const Tensor top_diff{y_.desc, y_.enter ? at_offset(scratch, dy_at_) : dy};
  const Tensor bottom_diff{x_.desc, dx && x_.leave ? at_offset(scratch, dx_at_) : dx};
  if (y_.enter) y_.enter->run(dy, top_diff.data, work);
  KernelRun part = run_of(run, saved, work);
  part.bottoms = {&x, 1};
  part.tops = {&y, 1};
  part.top_diffs = {&top_diff, 1};
  part.bottom_diffs = {&bottom_diff, 1};
  kernel_->backward(part);
  if (dx && x_.leave) x_.leave->run(bottom_diff.data, dx, work);
}

}  // namespace robusta
