/// LSTMUnit: one time step of an LSTM's cells (kit/recurrent/cells.h), without the products. The same text serves the
/// reference and the fast kernels.
///
/// Bottoms: c of the step before [1, N, H]; what the gates i, f, o, g are given [1, N, 4 H]; cont [1, N], which
/// multiplies that c. Tops: c and h, both [1, N, H].
///
/// cont has no gradient. Where it is neither 0 nor 1, the forget gate's gradient is the derivative, as on Caffe's GPU;
/// Caffe's CPU differentiates cont * f as if it were a sigmoid's value.
#pragma once

#include "layers/kit/kernel.h"
#include "layers/kit/recurrent/cell_step.h"
#include "layers/kit/scratch_plan.h"
#include "layers/kit/tells_shapes.h"

namespace robusta {

class LstmUnitLayer : public Layer, public TellsShapes {
 public:
  using Layer::Layer;
  Arity arity() const override { return {.min_bottoms = 3, .max_bottoms = 3, .min_tops = 2, .max_tops = 2}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  bool allows_gradient(int bottom) const override { return bottom != 2; }
  /// cont for the streams of the cells.
  std::optional<Shape> wanted_bottom(size_t bottom, const std::vector<Shape>& bottoms) const override {
    if (bottom != 2 || bottoms[0].axes() < 2) return std::nullopt;
    const Shape cont{1, bottoms[0][1]};
    return bottoms[2] == cont ? std::nullopt : std::optional(cont);
  }
};

inline namespace ROBUSTA_GPU_TARGET {

/// `Machine`: kit/recurrent/recurrent_steps.h; of it Stored, Math and each.
template <typename Machine>
class LstmUnitKernel : public Kernel {
 public:
  using Stored = typename Machine::Stored;
  using Cell = LstmCell<typename Machine::Math>;
  using T = typename Cell::T;

  explicit LstmUnitKernel(const KernelRequest& request)
      : streams_(request.bottoms[0].shape[1]), hidden_(request.bottoms[0].shape[2]) {
    booking_.bottom_types = {dtype_of<T>(), dtype_of<Stored>(), dtype_of<T>()};
    booking_.top_types = {dtype_of<T>(), dtype_of<Stored>()};
    booking_.reads_bottoms = {false, false, true};
    booking_.forward_aliases = booking_.backward_aliases = {{0, 0, false}};
    const auto states = static_cast<size_t>(streams_ * hidden_);
    gates_at_ = saved_.add(Cell::kGates * states * sizeof(T));
    taken_at_ = saved_.add(states * sizeof(T));
    booking_.saved_bytes = saved_.bytes();
    unwanted_dz_at_ = scratch_.add(Cell::kGates * states * sizeof(Stored));
    unwanted_dc_at_ = scratch_.add(states * sizeof(T));
    // One body computes both gradients: what nobody wants goes to scratch memory.
    const bool all_wanted = request.backward && request.bottom_grads[0] && request.bottom_grads[1];
    booking_.backward_scratch = all_wanted ? 0 : scratch_.bytes();
  }
  std::string describe() const override { return Machine::kName; }

  void forward(const KernelRun& run) override {
    const Machine on(run);
    T* taken = at<T>(run.saved, taken_at_);
    on.each(streams_, hidden_, TakeOver<T, T, T>{hidden_, run.bottoms[2].as<T>(), run.bottoms[0].as<T>(), taken});
    on.each(streams_, hidden_,
            CellForward<Cell, Stored, Stored, false>{.hidden = hidden_,
                                                     .z = run.bottoms[1].as<Stored>(),
                                                     .gates = at<T>(run.saved, gates_at_),
                                                     .taken = taken,
                                                     .c = run.tops[0].as<T>(),
                                                     .h = run.tops[1].as<Stored>()});
  }

  void backward(const KernelRun& run) override {
    Stored* dz = run.bottom_diffs[1].as<Stored>();
    T* dbefore = run.bottom_diffs[0].as<T>();
    Machine(run).each(
        streams_, hidden_,
        CellBackward<Cell, Stored, Stored, false>{.hidden = hidden_,
                                                  .gates = at<T>(run.saved, gates_at_),
                                                  .cont = run.bottoms[2].as<T>(),
                                                  .taken = at<T>(run.saved, taken_at_),
                                                  .dh = run.top_diffs[1].as<Stored>(),
                                                  .dc = run.top_diffs[0].as<T>(),
                                                  .dz = dz ? dz : at<Stored>(run.scratch, unwanted_dz_at_),
                                                  .dbefore = dbefore ? dbefore : at<T>(run.scratch, unwanted_dc_at_)});
  }

 private:
  template <typename Number>
  static Number* at(void* base, size_t offset) {
    return static_cast<Number*>(at_offset(base, offset));
  }

  int64_t streams_, hidden_;
  ScratchPlan saved_, scratch_;
  size_t gates_at_, taken_at_, unwanted_dz_at_, unwanted_dc_at_;
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
