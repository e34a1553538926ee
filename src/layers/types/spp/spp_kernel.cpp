// The kernels of SPP on the host, and what those of all devices share.

#include "layers/types/spp/spp_kernel.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "layers/kit/elementwise.h"
#include "layers/kit/pieces.h"
#include "memory/placement.h"

namespace robusta {
namespace {

KernelRequest request_of(const SppLayer::Level& level, const KernelRequest& whole) {
  KernelRequest request;
  request.layers = {level.pooling.get()};
  request.bottoms = {whole.bottoms[0].plain()};
  request.tops = {{level.top, whole.dtype(), nullptr}};
  request.backward = whole.backward;
  request.bottom_grads = whole.bottom_grads;
  request.tuner = whole.tuner;
  request.device = whole.device;
  return request;
}

/// All levels read one bottom, and their tops are put side by side as rows: neither can be in a layout of one level's.
bool is_plain(const Kernel& kernel) {
  const auto none = [](const std::vector<Layout>& layouts) {
    return std::all_of(layouts.begin(), layouts.end(), [](const Layout& layout) { return !layout; });
  };
  return none(kernel.booking().bottom_layouts) && none(kernel.booking().top_layouts);
}

}  // namespace

std::vector<SppPooling> choose_spp_poolings(const KernelRequest& request, const std::string& kind,
                                            const std::string& only, std::string& why_not) {
  std::vector<SppPooling> chosen;
  for (const SppLayer::Level& level : request.layer<SppLayer>().levels()) {
    const KernelRequest own = request_of(level, request);
    std::unique_ptr<Kernel> kernel;
    std::string reasons;
    for (const KernelCandidate* candidate : kernel_candidates(level.pooling->type(), kind)) {
      if (!only.empty() && candidate->backend != only) continue;
      std::string reason;
      kernel = candidate->factory(own, reason);
      if (kernel && is_plain(*kernel)) break;
      kernel = nullptr;
      reasons += (reasons.empty() ? "" : "; ") + reason;
    }
    if (!kernel) return why_not = level.pooling->name() + ": " + reasons, std::vector<SppPooling>{};
    const Booking& booking = kernel->booking();
    const DType stored = booking.top_types.empty() ? request.dtype() : booking.top_types[0];
    chosen.push_back({level.pooling, std::move(kernel), {level.top, stored, nullptr}});
  }
  return chosen;
}

SppKernel::SppKernel(const KernelRequest& request, std::vector<SppPooling> levels) : levels_(std::move(levels)) {
  const Booking& first = levels_[0].kernel->booking();
  booking_.bottom_types = first.bottom_types;
  booking_.top_types = first.top_types;
  booking_.reads_bottoms = {false};
  booking_.repeatable = true;
  size_t forward = 0, backward = 0;
  for (const SppPooling& level : levels_) {
    const Booking& own = level.kernel->booking();
    assert(std::ranges::count(own.reads_tops, true) == 0);
    booking_.reads_bottoms[0] = booking_.reads_bottoms[0] || own.reads_bottoms.empty() || own.reads_bottoms[0];
    booking_.repeatable = booking_.repeatable && own.repeatable;
    booking_.reads_position = booking_.reads_position || own.reads_position;
    saved_at_.push_back(booking_.saved_bytes);
    booking_.saved_bytes += align_up(own.saved_bytes);
    rows_.push_back({Shape{level.top.shape[0], level.top.shape.count(1)}, level.top.dtype, nullptr});
    placed_.push_back({rows_.back(), nullptr});
    rows_bytes_ += align_up(rows_.back().bytes());
    forward = std::max(forward, own.forward_scratch);
    backward = std::max(backward, own.backward_scratch);
  }
  if (levels_.size() == 1) rows_bytes_ = 0;
  booking_.forward_scratch = rows_bytes_ + forward;
  // Behind the rows one level's gradient of the bottom, which may be left in another type than it is read.
  const DType type = booking_.bottom_types.empty() ? request.dtype() : booking_.bottom_types[0];
  const size_t term = levels_.size() > 1 ? align_up(TensorDesc{request.bottoms[0].shape, type, nullptr}.bytes()) : 0;
  booking_.backward_scratch = rows_bytes_ + term + backward;
}

void SppKernel::place_rows(const KernelRun& run, const Tensor& top) {
  if (levels_.size() == 1) {
    placed_[0].data = top.data;
    return;
  }
  char* at = static_cast<char*>(run.scratch);
  for (Tensor& row : placed_) {
    row.data = at;
    at += align_up(row.desc.bytes());
  }
}

KernelRun SppKernel::run_of(size_t level, const KernelRun& run, size_t scratch) const {
  KernelRun own = run;
  own.saved = static_cast<char*>(run.saved) + saved_at_[level];
  own.scratch = static_cast<char*>(run.scratch) + scratch;
  return own;
}

void SppKernel::forward(const KernelRun& run) {
  place_rows(run, run.tops[0]);
  for (size_t level = 0; level < levels_.size(); ++level) {
    KernelRun own = run_of(level, run, rows_bytes_);
    const Tensor top = as_pooled(level, placed_[level]);
    own.tops = {&top, 1};
    levels_[level].kernel->forward(own);
  }
  if (levels_.size() > 1) join(run.stream, placed_, run.tops[0]);
}

void SppKernel::backward(const KernelRun& run) {
  const Tensor& bottom_diff = run.bottom_diffs[0];
  if (!bottom_diff) return;
  place_rows(run, run.top_diffs[0]);
  if (levels_.size() > 1) cut(run.stream, run.top_diffs[0], placed_);
  // The first level writes the gradient of the bottom, each other one beside it, from where it is added, in this order.
  const Tensor term{bottom_diff.desc, static_cast<char*>(run.scratch) + rows_bytes_};
  const size_t scratch = rows_bytes_ + (levels_.size() > 1 ? align_up(term.desc.bytes()) : 0);
  for (size_t level = 0; level < levels_.size(); ++level) {
    KernelRun own = run_of(level, run, scratch);
    const Tensor top_diff = as_pooled(level, placed_[level]), &to = level == 0 ? bottom_diff : term;
    const Tensor top{levels_[level].top, nullptr};
    own.tops = {&top, 1};
    own.top_diffs = {&top_diff, 1};
    own.bottom_diffs = {&to, 1};
    levels_[level].kernel->backward(own);
    if (level > 0) add(run.stream, term, bottom_diff);
  }
}

void SppKernel::check(const Pass& pass) {
  for (const SppPooling& level : levels_) level.kernel->check(pass);
}

namespace {

class SppHost : public SppKernel {
 public:
  SppHost(const KernelRequest& request, std::vector<SppPooling> levels)
      : SppKernel(request, std::move(levels)), pieces_(of_rows(request.tops[0]), rows(), 1) {}

 private:
  /// The top as [batch, numbers], whatever its axes.
  static TensorDesc of_rows(const TensorDesc& top) {
    return {Shape{top.shape[0], top.shape.count(1)}, top.dtype, nullptr};
  }
  void join(Stream*, std::span<const Tensor> rows, const Tensor& top) const override { pieces_.join(rows, top); }
  void cut(Stream*, const Tensor& top, std::span<const Tensor> rows) const override { pieces_.cut(top, rows); }
  void add(Stream*, const Tensor& from, const Tensor& to) const override {
    dispatch(to.desc.dtype, [&](auto t) {
      const auto* term = from.as<const decltype(t)>();
      auto* sum = to.as<decltype(t)>();
      parallel_for(to.count(), kElementwiseGrain, [=](int64_t i) { sum[i] += term[i]; });
    });
  }

  Pieces pieces_;
};

std::unique_ptr<Kernel> make_spp(const KernelRequest& request, const std::string& only, std::string& why_not) {
  std::vector<SppPooling> levels = choose_spp_poolings(request, "cpu", only, why_not);
  if (levels.empty()) return nullptr;
  return std::make_unique<SppHost>(request, std::move(levels));
}

std::unique_ptr<Kernel> make_spp_reference(const KernelRequest& request, std::string& why_not) {
  return make_spp(request, "reference", why_not);
}

std::unique_ptr<Kernel> make_spp_native(const KernelRequest& request, std::string& why_not) {
  if (!is_f32(request, why_not)) return nullptr;
  return make_spp(request, "native", why_not);
}

}  // namespace

ROBUSTA_REGISTER_KERNEL("SPP", "reference", 0, make_spp_reference);
ROBUSTA_REGISTER_KERNEL("SPP", "native", 10, make_spp_native);

}  // namespace robusta
