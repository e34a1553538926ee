// Fields, shapes and parameters of recurrent layers. Weights are fixed by the first input; numbers of steps and of
// streams may change from pass to pass.

#include "layers/kit/recurrent/recurrent_layer.h"

#include "layers/kit/bottom_checks.h"
#include "layers/kit/filler.h"

namespace robusta {
namespace {

void require(bool holds, size_t bottom, const Shape& shape, const std::string& wanted) {
  if (holds) return;
  throw Error(ErrorKind::kConfig, str("bottom ", bottom, " has shape ", shape.str(), ", but ", wanted),
              "bottoms are x (steps x streams x values), cont (steps x streams), then the static input (streams x "
              "values), if there is one, then, with expose_hidden, the states (1 x streams x num_output)")
      .in_field("bottom");
}

}  // namespace

RecurrentLayer::RecurrentLayer(const caffe::LayerParameter& param, size_t states, int64_t gates)
    : Layer(param), states_(states), gates_(gates) {
  const auto& p = param.recurrent_param();
  if (p.num_output() == 0) {
    throw Error(ErrorKind::kConfig, p.has_num_output() ? "num_output is 0" : "no num_output is given",
                "give the number of hidden units")
        .in_field("recurrent_param.num_output");
  }
}

Arity RecurrentLayer::arity() const {
  const int exposed = exposes_hidden() ? static_cast<int>(states_) : 0;
  return {.min_bottoms = 2 + exposed, .max_bottoms = 3 + exposed, .min_tops = 1 + exposed, .max_tops = 1 + exposed};
}

void RecurrentLayer::check_bottoms(const std::vector<Shape>& bottoms) const {
  require_elements(bottoms);
  const Shape &x = bottoms[0], &cont = bottoms[1];
  require(x.axes() >= 3, 0, x, "time steps, streams and values are wanted");
  require(cont == Shape{x[0], x[1]}, 1, cont, str("cont of ", x[0], " steps and ", x[1], " streams is wanted"));
  const size_t states = exposes_hidden() ? states_ : 0, first = bottoms.size() - states;
  if (first > 2) {
    const Shape& fixed = bottoms[2];
    require(fixed.axes() >= 2 && fixed[0] == x[1], 2, fixed, str("values for each of ", x[1], " streams are wanted"));
  }
  const Shape state{1, x[1], num_output()};
  for (size_t i = first; i < bottoms.size(); ++i) {
    require(bottoms[i] == state, i, bottoms[i], str("a state of shape ", state.str(), " is wanted"));
  }
}

/// x for as many streams as the static bottom or the states have, else for one; cont for the steps and streams of x.
std::optional<Shape> RecurrentLayer::wanted_bottom(size_t bottom, const std::vector<Shape>& bottoms) const {
  const Shape& x = bottoms[0];
  if (bottom == 1 && x.axes() >= 3 && bottoms[1] != Shape{x[0], x[1]}) return Shape{x[0], x[1]};
  if (bottom != 0 || x.axes() < 2) return std::nullopt;
  int64_t streams = x.axes() >= 3 ? x[1] : 1;
  if (bottoms.size() > 2) {
    const Shape& other = bottoms.back();  // a state [1, N, hidden] or the static bottom [N, ...]
    if (other.axes() < 2) return std::nullopt;
    streams = exposes_hidden() ? other[1] : other[0];
  }
  if (x.axes() == 2) return Shape{x[0], streams, x[1]};
  Shape wanted = x;
  wanted[1] = streams;
  return wanted == x ? std::nullopt : std::optional(wanted);
}

std::vector<Shape> RecurrentLayer::infer_tops(const std::vector<Shape>& bottoms) {
  check_bottoms(bottoms);
  const size_t exposed = exposes_hidden() ? states_ : 0;
  const Shape& x = bottoms[0];
  RecurrentSize size{.steps = x[0], .streams = x[1], .inputs = x.count(2), .hidden = num_output()};
  size.gates = gates_ * size.hidden;
  if (bottoms.size() > 2 + exposed) size.statics = bottoms[2].count(1);
  for (const Shape& shape : {Shape{size.gates, size.inputs}, Shape{size.gates, size.statics},
                             Shape{size.gates, size.hidden}, Shape{size.steps + 1, size.streams, size.gates}}) {
    check_extents(shape);
  }
  input_weights_.fix({size.gates, size.inputs}, "weights");
  static_weights_.fix({size.gates, size.statics}, "weights of the static input");
  size_ = size;
  std::vector<Shape> tops(1 + exposed, Shape{1, size.streams, size.hidden});
  tops[0][0] = size.steps;
  return tops;
}

ParamDecl RecurrentLayer::weights(const Shape& shape) const {
  const caffe::FillerParameter& filler = param().recurrent_param().weight_filler();
  check_filler(filler, shape, "recurrent_param.weight_filler");
  return {shape, &filler};
}

ParamDecl RecurrentLayer::bias(int64_t count) const {
  const caffe::FillerParameter& filler = param().recurrent_param().bias_filler();
  check_filler(filler, {count}, "recurrent_param.bias_filler");
  return {Shape{count}, &filler};
}

std::vector<ParamDecl> RecurrentLayer::params() const {
  std::vector<ParamDecl> decls{weights(input_weights_.get()), bias(size_.gates)};
  if (has_static()) decls.push_back(weights(static_weights_.get()));
  decls.push_back(weights({size_.gates, size_.hidden}));
  return decls;
}

std::vector<Shape> RecurrentLayer::carried() const {
  if (exposes_hidden()) return {};
  return std::vector<Shape>(states_, Shape{1, size_.streams, size_.hidden});
}

double RecurrentLayer::forward_flops(const std::vector<Shape>&, const std::vector<Shape>&) const {
  const double gates = static_cast<double>(size_.streams) * static_cast<double>(size_.gates);
  const double per_step = static_cast<double>(size_.inputs) + static_cast<double>(size_.hidden);
  return 2 * gates * (static_cast<double>(size_.steps) * per_step + static_cast<double>(size_.statics));
}

const Tensor& RecurrentLayer::first_state(const KernelRun& run, size_t i) const {
  return exposes_hidden() ? run.bottoms[state_bottom(i)] : run.carried[i];
}

const Tensor& RecurrentLayer::last_state(const KernelRun& run, size_t i) const {
  return exposes_hidden() ? run.tops[1 + i] : run.carried[i];
}

Tensor RecurrentLayer::first_state_gradient(const KernelRun& run, size_t i) const {
  return exposes_hidden() ? run.bottom_diffs[state_bottom(i)] : Tensor{};
}

Tensor RecurrentLayer::last_state_gradient(const KernelRun& run, size_t i) const {
  return exposes_hidden() ? run.top_diffs[1 + i] : Tensor{};
}

Error RecurrentLayer::bad_cont(int64_t row, double value) const {
  return Error(ErrorKind::kData,
               str("cont (bottom 1) is ", value, " at step ", row / size_.streams, " of stream ", row % size_.streams),
               "give 0 where a sequence begins, else 1");
}

}  // namespace robusta
