// LSTM, RNN and LSTMUnit: the steps one after the other, in operators, as the number of steps is that of the bottom.
//
// ONNX has an LSTM of its own, which cannot forget at a step that `cont` names. States begin with zeros (or with the
// bottoms of expose_hidden): what Caffe carries from one batch to the next is nothing that a model remembers.

#include "base/log.h"
#include "base/str.h"
#include "exchange/onnx/export/emitter.h"
#include "layers/kit/recurrent/recurrent_layer.h"

namespace robusta {
namespace {

constexpr int64_t kMostSteps = 1000;  // each is a dozen nodes

/// What an LSTM's cells make of the numbers that its gates are given: i, f, o, g, side by side along `axis`.
struct CellOutput {
  std::string c, h;
};
CellOutput lstm_cell(LayerEmission& layer, const std::string& gates, const std::string& kept_c, int64_t axis,
                     int64_t hidden) {
  const std::string i = layer.fresh("i"), f = layer.fresh("f"), o = layer.fresh("o"), g = layer.fresh("g");
  layer.node_to("Split", {gates, layer.integers({hidden, hidden, hidden, hidden})}, {i, f, o, g}, {{"axis", axis}});
  const std::string kept = layer.node("Mul", {layer.node("Sigmoid", {f}), kept_c});
  const std::string added = layer.node("Mul", {layer.node("Sigmoid", {i}), layer.node("Tanh", {g})});
  const std::string c = layer.node("Add", {kept, added});
  return {c, layer.node("Mul", {layer.node("Sigmoid", {o}), layer.node("Tanh", {c})})};
}

class Unrolled {
 public:
  Unrolled(LayerEmission& layer, bool is_lstm)
      : layer_(layer), recurrent_(layer.as<RecurrentLayer>()), size_(recurrent_.size()), is_lstm_(is_lstm) {
    steps_ = layer.require_fixed(layer.bottom_dims(0)[0], "the number of steps");
    if (steps_ > kMostSteps) layer.refuse(str("it has ", steps_, " steps, and at most ", kMostSteps, " are unrolled"));
    streams_ = layer.bottom_dims(0)[1];
  }

  void emit() {
    const std::vector<std::string> inputs = by_step(input_products(), 0);
    const std::vector<std::string> conts = by_step(layer_.bottom(1), 0);
    for (size_t state = 0; state < recurrent_.states(); ++state) states_.push_back(first_state(state));
    std::vector<std::string> tops;
    for (int64_t step = 0; step < steps_; ++step) {
      tops.push_back(one_step(inputs[static_cast<size_t>(step)], conts[static_cast<size_t>(step)]));
    }
    if (tops.size() == 1) {
      layer_.top_is(0, tops[0]);
    } else {
      layer_.top(0, "Concat", tops, {{"axis", int64_t{0}}});
    }
    if (!recurrent_.exposes_hidden()) return;
    for (size_t state = 0; state < recurrent_.states(); ++state) {
      layer_.top(1 + static_cast<int>(state), "Identity", {states_[state]});
    }
  }

 private:
  /// x W^T (+ b) of all steps at once, as [steps, streams, gates].
  std::string input_products() {
    const std::string rows = layer_.reshape(layer_.bottom(0), {Dim{steps_} * streams_, {size_.inputs}});
    const std::string products =
        layer_.node("Gemm", {rows, layer_.weights(0), layer_.weights(1)}, {{"transB", int64_t{1}}});
    const std::string inputs = layer_.reshape(products, {{steps_}, streams_, {size_.gates}});
    if (!recurrent_.has_static()) return inputs;
    const std::string statics = layer_.reshape(layer_.bottom(2), {streams_, {size_.statics}});
    return layer_.node("Add", {inputs, layer_.node("Gemm", {statics, layer_.weights(2)}, {{"transB", int64_t{1}}})});
  }

  /// x cut into its steps, each with an axis of extent 1 in front.
  std::vector<std::string> by_step(const std::string& x, int64_t axis) {
    if (steps_ == 1) return {x};
    std::vector<std::string> parts;
    for (int64_t step = 0; step < steps_; ++step) parts.push_back(layer_.fresh(str("step", step)));
    const std::vector<int64_t> extents(static_cast<size_t>(steps_), 1);
    layer_.node_to("Split", {x, layer_.integers(extents)}, parts, {{"axis", axis}});
    return parts;
  }

  /// [1, streams, hidden]
  std::string first_state(size_t state) {
    if (recurrent_.exposes_hidden()) return layer_.bottom(static_cast<int>(recurrent_.state_bottom(state)));
    const std::string shape =
        layer_.node("Slice", {layer_.node("Shape", {layer_.bottom(1)}), layer_.integers({1}), layer_.integers({2})});
    const std::string whole =
        layer_.node("Concat", {layer_.integers({1}), shape, layer_.integers({size_.hidden})}, {{"axis", int64_t{0}}});
    return layer_.node("Expand", {layer_.number(0), whole});
  }

  std::string product_with(const std::string& h, int weights) {
    const std::string rows = layer_.reshape(h, {streams_, {size_.hidden}});
    return layer_.node("Gemm", {rows, layer_.weights(weights)}, {{"transB", int64_t{1}}});
  }

  /// What the top has at this step; the states become those after it.
  std::string one_step(const std::string& input, const std::string& cont) {
    const std::string gate = layer_.with_axes_behind(cont, 2, 1);
    const std::string kept_h = layer_.node("Mul", {states_[0], gate});
    const int weights = static_cast<int>(recurrent_.hidden_weights());
    const std::string gates = layer_.node("Add", {input, product_with(kept_h, weights)});
    if (!is_lstm_) {
      states_[0] = layer_.node("Tanh", {gates});
      const std::string product =
          layer_.reshape(product_with(states_[0], weights + 1), {{1}, streams_, {size_.hidden}});
      return layer_.node("Tanh", {layer_.node("Add", {product, layer_.weights(weights + 2)})});
    }
    const CellOutput cell = lstm_cell(layer_, gates, layer_.node("Mul", {states_[1], gate}), 2, size_.hidden);
    states_ = {cell.h, cell.c};
    return cell.h;
  }

  LayerEmission& layer_;
  const RecurrentLayer& recurrent_;
  const RecurrentSize& size_;
  bool is_lstm_;
  int64_t steps_ = 0;
  Dim streams_;
  std::vector<std::string> states_;  ///< h, and of an LSTM c
};

void warn_of_states(LayerEmission& layer) {
  if (layer.as<RecurrentLayer>().exposes_hidden()) return;
  LOG_WARNING << "layer " << layer.param().name() << ": what it carries from one batch to the next is no part of the "
              << "model, whose every run begins with states of zero (expose_hidden makes inputs and outputs of them)";
}

void emit_lstm(LayerEmission& layer) {
  warn_of_states(layer);
  Unrolled(layer, true).emit();
}
void emit_rnn(LayerEmission& layer) {
  warn_of_states(layer);
  Unrolled(layer, false).emit();
}

void emit_lstm_unit(LayerEmission& layer) {
  const int64_t hidden = layer.require_fixed(layer.bottom_dims(0)[2], "the number of its cells");
  const std::string cont = layer.with_axes_behind(layer.bottom(2), 2, 1);
  const CellOutput cell = lstm_cell(layer, layer.bottom(1), layer.node("Mul", {layer.bottom(0), cont}), 2, hidden);
  layer.top(0, "Identity", {cell.c});
  layer.top(1, "Identity", {cell.h});
}

[[maybe_unused]] const bool registered_recurrent[] = {register_onnx_emitter("LSTM", emit_lstm),
                                                      register_onnx_emitter("RNN", emit_rnn),
                                                      register_onnx_emitter("LSTMUnit", emit_lstm_unit)};

}  // namespace
}  // namespace robusta
