// LSTM: one layer for each direction, with Caffe's order of gates and one bias in place of two.
//
// Caffe's `cont` says where a sequence begins. States that begin with zeros need nothing else: it is 0 at the first
// step and 1 at the others. Others are bottoms of the layer (expose_hidden), and the states at the end its tops.

#include <algorithm>
#include <array>

#include "base/str.h"
#include "exchange/onnx/import/node.h"

namespace robusta {
namespace {

enum Input { kX, kWeights, kRecurrence, kBias, kLengths, kFirstH, kFirstC, kPeepholes };
enum Output { kY, kLastH, kLastC };

/// An array that no layer computes.
std::string known_blob(ImportNode& node, const Shape& shape, const std::vector<float>& values) {
  return node.layer("Parameter", {}, [&](caffe::LayerParameter& param) {
    for (const int64_t dim : shape.dims()) param.mutable_parameter_param()->mutable_shape()->add_dim(dim);
    add_array(param, shape, values);
  });
}

/// Of the four gates that begin at `begin`, i, o, f and c in ONNX, what each unit has of them: in Caffe's order.
std::vector<float> gates_in_order(const std::vector<float>& values, int64_t begin, int64_t per_gate) {
  constexpr std::array<int64_t, 4> kCaffes{0, 2, 1, 3};
  std::vector<float> ordered;
  for (const int64_t gate : kCaffes) {
    const auto first = values.begin() + begin + gate * per_gate;
    ordered.insert(ordered.end(), first, first + per_gate);
  }
  return ordered;
}

class LstmImport {
 public:
  explicit LstmImport(ImportNode& node) : node_(node) {
    require_shapes();
    require_plain();
    exposes_ = node.is_read(kLastC) || !begins_with_zeros(kFirstH) || !begins_with_zeros(kFirstC);
  }

  void emit() {
    for (int64_t direction = 0; direction < directions_; ++direction) emit_direction(direction);
    if (node_.is_read(kY)) node_.output(joined(all_, 1), kY);
    if (node_.is_read(kLastH)) node_.output(joined(last_h_, 0), kLastH);
    if (node_.is_read(kLastC)) node_.output(joined(last_c_, 0), kLastC);
  }

 private:
  void require_shapes() {
    const Shape &x = node_.shape(kX), &w = node_.shape(kWeights), &r = node_.shape(kRecurrence);
    if (x.axes() != 3 || w.axes() != 3 || r.axes() != 3 || w[0] < 1 || w[0] > 2 || r[2] < 1)
      node_.contradict(str("its input has shape ", x.str(), ", its weights ", w.str(), " and ", r.str()));
    steps_ = x[0], streams_ = x[1], inputs_ = x[2], directions_ = w[0], hidden_ = r[2];
    const int64_t gates = product_or_most(4, hidden_);
    if (w != Shape{directions_, gates, inputs_} || r != Shape{directions_, gates, hidden_} ||
        (node_.has(kBias) && node_.shape(kBias) != Shape{directions_, product_or_most(2, gates)}))
      node_.contradict(str("its weights have shapes ", w.str(), " and ", r.str(), ", which do not fit together"));
    for (const int input : {int{kFirstH}, int{kFirstC}}) {
      if (node_.has(input) && node_.shape(input) != Shape{directions_, streams_, hidden_})
        node_.contradict(str("input ", input, " has shape ", node_.shape(input).str()));
    }
    for (const int input : {int{kWeights}, int{kRecurrence}, int{kBias}}) {
      if (node_.has(input) && !node_.is_constant(input))
        node_.refuse(str("input ", input), "it is computed from the inputs of the model",
                     "Caffe's weights are constants");
    }
    node_.count_folded(Shape{steps_, streams_});
  }

  /// What LSTMs of Caffe do not have.
  void require_plain() {
    const auto refuse = [&](const char* what, const std::string& cause) {
      node_.refuse(what, cause, "Caffe's LSTM has none of this: export that of torch.nn.LSTM");
    };
    if (node_.integer("layout", 0) != 0) refuse("attribute layout", "the batch comes first");
    if (node_.attribute("clip")) refuse("attribute clip", "what its gates get is cut off");
    if (node_.integer("input_forget", 0) != 0) refuse("attribute input_forget", "two gates are one");
    static const std::array<std::string, 3> kFunctions{"Sigmoid", "Tanh", "Tanh"};
    const onnx::AttributeProto* functions = node_.attribute("activations");
    for (int i = 0; functions && i < functions->strings_size(); ++i) {
      if (functions->strings(i) != kFunctions[static_cast<size_t>(i) % kFunctions.size()])
        refuse("attribute activations", str("one is ", functions->strings(i)));
    }
    if (node_.has(kPeepholes) && !is_all(kPeepholes, 0)) refuse("input P", "gates look at the cells");
    if (node_.has(kLengths) && !is_all(kLengths, static_cast<double>(steps_)))
      refuse("input sequence_lens", "sequences end at steps of their own");
    direction_ = node_.text("direction", "forward");
    if (directions_ != (direction_ == "bidirectional" ? 2 : 1))
      node_.contradict(str("direction is ", direction_, ", and there are weights for ", directions_));
    if (direction_ != "forward" && direction_ != "reverse" && direction_ != "bidirectional")
      node_.contradict(str("direction is ", direction_));
  }

  bool is_all(int input, double value) const {
    if (!node_.is_constant(input)) return false;
    const OnnxConstant given = node_.constant(input);
    return std::ranges::all_of(given.values, [=](double number) { return number == value; });
  }
  bool begins_with_zeros(int input) const { return !node_.has(input) || is_all(input, 0); }

  void emit_direction(int64_t direction) {
    const bool reversed = direction_ == "reverse" || direction == 1;
    const std::string x = reversed ? in_reverse(node_.blob(kX)) : node_.blob(kX);
    std::vector<float> cont(static_cast<size_t>(steps_ * streams_), 1);
    if (!exposes_) std::fill_n(cont.begin(), streams_, 0.0f);
    std::vector<std::string> bottoms{x, known_blob(node_, {steps_, streams_}, cont)};
    if (exposes_) {
      bottoms.push_back(first_state(kFirstH, direction));
      bottoms.push_back(first_state(kFirstC, direction));
    }
    const caffe::LayerParameter layer = recurrent_layer(bottoms, direction);
    const std::string y = node_.append(layer);
    if (node_.is_read(kY)) all_.push_back(node_.reshape(reversed ? in_reverse(y) : y, {steps_, 1, streams_, hidden_}));
    if (node_.is_read(kLastH)) last_h_.push_back(exposes_ ? layer.top(1) : node_.slice(y, 0, steps_ - 1, steps_));
    if (node_.is_read(kLastC)) last_c_.push_back(layer.top(2));
  }

  caffe::LayerParameter recurrent_layer(const std::vector<std::string>& bottoms, int64_t direction) {
    caffe::LayerParameter layer = node_.new_layer("LSTM", bottoms);
    auto& p = *layer.mutable_recurrent_param();
    p.set_num_output(static_cast<uint32_t>(hidden_));
    const int64_t gates = 4 * hidden_;
    add_array(layer, {gates, inputs_},
              gates_in_order(node_.floats(kWeights), direction * gates * inputs_, hidden_ * inputs_));
    add_array(layer, {gates}, bias_of(direction));
    add_array(layer, {gates, hidden_},
              gates_in_order(node_.floats(kRecurrence), direction * gates * hidden_, hidden_ * hidden_));
    if (!exposes_) return layer;
    p.set_expose_hidden(true);
    for (const char* state : {"_h", "_c"}) layer.add_top(unused_name(node_.graph(), layer.name() + state));
    return layer;
  }

  /// That of the input and that of the state, added.
  std::vector<float> bias_of(int64_t direction) const {
    const int64_t gates = 4 * hidden_;
    if (!node_.has(kBias)) return std::vector<float>(static_cast<size_t>(gates), 0);
    const std::vector<float> both = node_.floats(kBias);
    std::vector<float> sum = gates_in_order(both, 2 * direction * gates, hidden_);
    const std::vector<float> other = gates_in_order(both, (2 * direction + 1) * gates, hidden_);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += other[i];
    return sum;
  }

  std::string first_state(int input, int64_t direction) {
    if (node_.has(input)) return node_.slice(node_.blob(input), 0, direction, direction + 1);
    const Shape shape{1, streams_, hidden_};
    node_.count_folded(shape);
    return known_blob(node_, shape, std::vector<float>(static_cast<size_t>(shape.count()), 0));
  }

  std::string in_reverse(const std::string& blob) {
    return steps_ == 1 ? blob : node_.layer("Reverse", {blob});  // along axis 0
  }

  std::string joined(const std::vector<std::string>& parts, int axis) {
    if (parts.size() == 1) return parts[0];
    return node_.layer("Concat", parts,
                       [&](caffe::LayerParameter& param) { param.mutable_concat_param()->set_axis(axis); });
  }

  ImportNode& node_;
  int64_t steps_ = 0, streams_ = 0, inputs_ = 0, directions_ = 0, hidden_ = 0;
  std::string direction_;
  bool exposes_ = false;
  std::vector<std::string> all_, last_h_, last_c_;  ///< blobs, one for each direction
};

void emit_onnx_lstm(ImportNode& node) { LstmImport(node).emit(); }

[[maybe_unused]] const bool registered_recurrent_operators = register_onnx_operator("LSTM", emit_onnx_lstm);

}  // namespace
}  // namespace robusta
