/// LSTM and RNN: what the two layers share, and what their kernels ask of them.
///
/// Donahue et al. 2015, "Long-term Recurrent Convolutional Networks for Visual Recognition and Description". T time
/// steps of N streams side by side; what step t of a stream takes over from step t - 1 is multiplied by cont[t], which
/// is 0 where a sequence begins. Bottoms: x [T, N, ...]; cont [T, N]; one more [N, ...] if has_static(), the same in
/// all steps; with `expose_hidden` the states before the first step, each [1, N, hidden]. Tops: [T, N, hidden]; with
/// `expose_hidden` the states after the last step. Without, those are carried to the next forward pass.
#pragma once

#include "layers/kit/fixed_shape.h"
#include "layers/kit/kernel.h"
#include "layers/kit/layer.h"
#include "layers/kit/tells_shapes.h"

namespace robusta {

struct RecurrentSize {
  int64_t steps = 0, streams = 0, inputs = 0;  ///< T x N x inputs: in Caffe's order, time first
  int64_t statics = 0;                         ///< values per stream of the static bottom; 0: there is none
  int64_t hidden = 0;                          ///< units: num_output
  int64_t gates = 0;                           ///< numbers per row that the products give: `hidden` of each gate

  int64_t rows() const { return steps * streams; }
};

/// Parameters: weights of x [gates, inputs]; bias [gates]; weights of the static bottom [gates, statics], if there is
/// one; weights of the hidden state [gates, hidden]; what the descendant adds.
class RecurrentLayer : public Layer, public TellsShapes {
 public:
  Arity arity() const override;
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  std::optional<Shape> wanted_bottom(size_t bottom, const std::vector<Shape>& bottoms) const override;
  std::vector<ParamDecl> params() const override;
  std::vector<Shape> carried() const override;
  bool allows_gradient(int bottom) const override { return bottom != 1; }
  int64_t num_output() const override { return param().recurrent_param().num_output(); }
  double forward_flops(const std::vector<Shape>& bottoms, const std::vector<Shape>& tops) const override;

  /// The rest after infer_tops.
  const RecurrentSize& size() const { return size_; }
  bool has_static() const { return size_.statics > 0; }
  bool exposes_hidden() const { return param().recurrent_param().expose_hidden(); }
  size_t states() const { return states_; }
  /// The bottom with state `i` before the first step. REQUIRES: exposes_hidden().
  size_t state_bottom(size_t i) const { return (has_static() ? 3 : 2) + i; }
  /// What to throw for a cont that is not finite; `row` counts streams within steps.
  Error bad_cont(int64_t row, double value) const;
  /// The index of the weights of the hidden state.
  size_t hidden_weights() const { return has_static() ? 3 : 2; }

  /// State `i` before the first step and after the last one.
  const Tensor& first_state(const KernelRun& run, size_t i) const;
  const Tensor& last_state(const KernelRun& run, size_t i) const;
  /// Their gradients; null: unwanted, or zero.
  Tensor first_state_gradient(const KernelRun& run, size_t i) const;
  Tensor last_state_gradient(const KernelRun& run, size_t i) const;

 protected:
  /// `states` and `gates` of one hidden unit.
  RecurrentLayer(const caffe::LayerParameter& param, size_t states, int64_t gates);

  ParamDecl weights(const Shape& shape) const;
  ParamDecl bias(int64_t count) const;

 private:
  void check_bottoms(const std::vector<Shape>& bottoms) const;

  size_t states_;
  int64_t gates_;
  RecurrentSize size_;
  FixedShape input_weights_, static_weights_;
};

}  // namespace robusta
