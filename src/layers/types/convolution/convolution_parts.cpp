// Samples are exchanged as plain arrays, whatever layouts the kernel of the part has.

#include "layers/types/convolution/convolution_parts.h"

#include <algorithm>

#include "base/str.h"
#include "layers/kit/model_parts.h"
#include "layers/types/convolution/part_convolution.h"
#include "ops/gemm_convolution.h"

namespace robusta {
namespace {

template <typename T>
class ConvolutionParts : public Kernel {
 public:
  ConvolutionParts(const KernelRequest& request, std::unique_ptr<PartConvolution> part)
      : layer_(request.layer<ConvolutionLayer>()),
        group_(*layer_.group()),
        part_(std::move(part)),
        whole_(layer_.geometry()),
        keeps_inputs_(request.backward && request.param_grads[0]),
        x_(elements_in(geometry().axes) * geometry().channels),
        y_(layer_.top_plane() * geometry().num_output) {
    const size_t x = bytes(geometry().batch * x_), columns = whole_.column_elements() * sizeof(T);
    booking_.reads_bottoms = {false};
    booking_.saved_bytes = std::max(part_->saved_bytes(), keeps_inputs_ ? x : 0);
    mine_at_ = forward_.add(bytes(part_->outputs()));
    pieces_at_ = forward_.add(std::max(bytes(part_->outputs()), slices() ? x : 0));
    forward_work_at_ = forward_.add(std::max(part_->forward_scratch(), columns));
    booking_.forward_scratch = forward_.bytes();
    dy_at_ = backward_.add(bytes(part_->outputs()));
    received_at_ = backward_.add(std::max(bytes(part_->outputs()), bytes(part_->inputs())));
    dx_at_ = backward_.add(bytes(part_->inputs()));
    backward_work_at_ = backward_.add(std::max(part_->backward_scratch(), columns));
    booking_.backward_scratch = backward_.bytes();
    booking_.asks_ranks = true;
  }

  std::string describe() const override {
    return str(part_->describe(), " of part ", group_.part() + 1, " of ", group_.parts());
  }

  void forward(const KernelRun& run) override {
    if (!asks(run)) return forward_whole(run);
    T *mine = at(run, mine_at_), *pieces = at(run, pieces_at_);
    void* const work = at(run, forward_work_at_);
    gather(run.bottoms[0].as<T>(), pieces, part_->input(run.saved, work));
    part_->forward(run, mine, run.saved, work);
    exchange(mine, outputs_of_rank(), pieces);
    of_top().join(pieces, run.tops[0].as<T>());
  }

  void backward(const KernelRun& run) override {
    if (!asks(run)) return backward_whole(run);
    T *dy = at(run, dy_at_), *received = at(run, received_at_);
    T* const dx = run.bottom_diffs[0] ? at(run, dx_at_) : nullptr;
    of_top().slice(run.top_diffs[0].as<T>(), received);
    exchange(received, outputs_of_rank(), dy);
    part_->backward(run, dy, dx, run.saved, at(run, backward_work_at_));
    if (!dx) return;
    exchange(dx, inputs_of_rank(), received);
    if (slices()) {
      of_bottom().join(received, run.bottom_diffs[0].as<T>());
    } else {
      sum_parts(received, group_.parts(), inputs_of_rank(), run.bottom_diffs[0].as<T>());
    }
  }

 private:
  const ConvolutionGeometry& geometry() const { return layer_.geometry(); }
  static size_t bytes(int64_t elements) { return static_cast<size_t>(elements) * sizeof(T); }
  static T* at(const KernelRun& run, size_t offset) { return static_cast<T*>(at_offset(run.scratch, offset)); }
  static bool asks(const KernelRun& run) { return run.pass && run.pass->ranks; }
  /// Each part reads channels of its own.
  bool slices() const { return !layer_.parts_read_whole_bottom(); }
  /// Of the part, of one rank's samples.
  int64_t inputs_of_rank() const { return part_->inputs() / group_.parts(); }
  int64_t outputs_of_rank() const { return part_->outputs() / group_.parts(); }
  /// How this rank's top, and its bottom, are made of what parts write and read.
  PartsOfRows of_top() const { return {group_.parts(), geometry().batch, y_ / group_.parts()}; }
  PartsOfRows of_bottom() const { return {group_.parts(), geometry().batch, x_ / group_.parts()}; }

  void gather(const T* x, T* pieces, void* all) {
    if (!slices()) return group_.all_gather(x, bytes(inputs_of_rank()), all);
    of_bottom().slice(x, pieces);
    exchange(pieces, inputs_of_rank(), all);
  }
  void exchange(const T* out, int64_t elements, void* in) { group_.all_to_all(out, bytes(elements), in); }

  void forward_whole(const KernelRun& run) const {
    const T* const x = run.bottoms[0].as<T>();
    T* const y = run.tops[0].as<T>();
    if (keeps_inputs_) std::copy_n(x, geometry().batch * x_, static_cast<T*>(run.saved));
    whole_.convolve(x, run.params[0]->tensor().template as<T>(), y, at(run, forward_work_at_));
    if (run.params.size() < 2) return;
    add_bias(run.params[1]->tensor().template as<T>(), geometry().batch, geometry().num_output, layer_.top_plane(), y);
  }

  void backward_whole(const KernelRun& run) const {
    const T* const dy = run.top_diffs[0].as<T>();
    T* const columns = at(run, backward_work_at_);
    if (run.params[0]->learns) {
      whole_.correlate(static_cast<const T*>(run.saved), dy, run.accumulate[0] ? 1 : 0,
                       run.params[0]->gradient().template as<T>(), columns);
    }
    if (run.params.size() > 1 && run.params[1]->learns) {
      sum_bias_gradient(run.top_diffs, geometry().batch, geometry().num_output, layer_.top_plane(),
                        run.accumulate[1] != 0, run.params[1]->gradient().template as<T>());
    }
    if (!run.bottom_diffs[0]) return;
    whole_.deconvolve(dy, run.params[0]->tensor().template as<T>(), run.bottom_diffs[0].as<T>(), columns);
  }

  const ConvolutionLayer& layer_;
  ModelGroup& group_;
  const std::unique_ptr<PartConvolution> part_;
  const GemmConvolution<T> whole_;
  const bool keeps_inputs_;  ///< the weights learn
  const int64_t x_, y_;      ///< elements of a sample
  ScratchPlan forward_, backward_;
  size_t mine_at_ = 0, pieces_at_ = 0, forward_work_at_ = 0;
  size_t dy_at_ = 0, received_at_ = 0, dx_at_ = 0, backward_work_at_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> make_convolution_parts(const KernelRequest& request, const std::string& backend,
                                               std::string& why_not) {
  std::unique_ptr<PartConvolution> part = PartConvolution::make(request, backend, why_not);
  if (!part) return nullptr;
  return dispatch(request.dtype(), [&](auto t) -> std::unique_ptr<Kernel> {
    return std::make_unique<ConvolutionParts<decltype(t)>>(request, std::move(part));
  });
}

}  // namespace robusta
