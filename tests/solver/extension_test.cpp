// The worked examples of CONTRIBUTING.md: an update rule, a policy and a model format, each as a file of its own would
// have it. Nothing else names them.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "robusta/error.h"
#include "schema/read_text.h"
#include "solver/files/model_format.h"
#include "solver/files/snapshot.h"
#include "solver/update/policy_settings.h"
#include "solver/update/register_rule.h"
#include "solver/update/schedule.h"
#include "support/files.h"

namespace robusta {

// example: an update rule
inline namespace ROBUSTA_GPU_TARGET {

/// Steps of one size: Bernstein et al. 2018, "signSGD: Compressed Optimisation for Non-Convex Problems", algorithm 1.
template <typename T>
struct SignSgd {
  static constexpr RuleTraits kTraits{.histories = 0};
  static void check(const SolverDef& solver) { require_no_momentum(solver); }
  SignSgd(const UpdateTask& task, const caffe::SolverParameter&) : rate(static_cast<T>(task.rate)) {}
  ROBUSTA_GPU void operator()(T& w, T g) const { w -= rate * (static_cast<T>(g > 0) - static_cast<T>(g < 0)); }
  T rate;
};

}  // namespace ROBUSTA_GPU_TARGET

ROBUSTA_REGISTER_UPDATE_RULE("SignSGD", SignSgd);

namespace {

// example: a policy
/// Half the rate every stepsize iterations.
LrPolicy halving_rate(const SolverDef& solver) {
  if (solver.param.stepsize() <= 0) {
    refuse_setting(solver, "stepsize", str("stepsize is ", solver.param.stepsize()), "give at least 1");
  }
  return {[p = solver.param](int64_t t, double, PolicyState&) {
    return p.base_lr() * std::exp2(-static_cast<double>(t / p.stepsize()));
  }};
}

[[maybe_unused]] const bool registered_halving = register_lr_policy("halving", halving_rate);

// example: a model format
/// Caffe's states in the text form of protobuf; models are left out for short.
class TextFormat : public ModelFormat {
 public:
  std::string title() const override { return "text file"; }
  std::string model_ending() const override { return ".caffemodel.txt"; }
  std::string state_ending() const override { return ".solverstate.txt"; }
  bool recognises(std::string_view beginning) const override { return beginning.starts_with("# state\n"); }
  WeightsFile read_model(const std::string&) const override { return {"net", {{"ip", "InnerProduct", {}}}}; }
  caffe::SolverState read_state(const std::string& path) const override {
    caffe::SolverState state;
    google::protobuf::TextFormat::ParseFromString(test::read_file(path), &state);
    return state;
  }
  void write_model(const std::string&, Net&, bool) const override {}
  void write_state(const std::string&, caffe::SolverState, Updater&) const override {}
};

[[maybe_unused]] const bool registered_text = register_model_format("TEXT", std::make_unique<TextFormat>());

TEST(Extension, ARuleOfNoHistoryStepsByTheSign) {
  const auto rule = make_update_rule(parse_solver("lr_policy: 'fixed' type: 'SignSGD'", "s.prototxt"));
  EXPECT_EQ(rule->histories(), 0);
  float w[] = {1, 1, 1}, g[] = {3, -0.1f, 0};
  UpdateTask task;
  task.count = 3;
  task.weights = w;
  task.gradient = g;
  task.rate = 0.25;
  rule->apply({&task, 1});
  EXPECT_EQ(w[0], 0.75f);
  EXPECT_EQ(w[1], 1.25f);
  EXPECT_EQ(w[2], 1);
}

TEST(Extension, APolicyIsFoundByItsName) {
  const Schedule schedule(parse_solver("base_lr: 8 lr_policy: 'halving' stepsize: 2", "s.prototxt"));
  PolicyState state;
  EXPECT_EQ(schedule.rate(1, 0, state), 8);
  EXPECT_EQ(schedule.rate(4, 0, state), 2);
  EXPECT_THROW(Schedule(parse_solver("base_lr: 8 lr_policy: 'halving'", "s.prototxt")), Error);
}

TEST(Extension, AFormatIsFoundByWhatAFileHolds) {
  const test::TempDir folder;
  const std::string state = folder / "net_iter_7.solverstate.txt", model = folder / "net_iter_7.caffemodel.txt";
  test::write_file(state, "# state\niter: 7 learned_net: '" + model + "'");
  test::write_file(model, "# state\n");
  const Snapshot snapshot = read_snapshot(state);
  EXPECT_EQ(snapshot.state.iter(), 7);
  EXPECT_EQ(snapshot.weights.layers.at(0).name, "ip");
  EXPECT_EQ(newest_snapshot(folder / "net"), state);
}

}  // namespace
}  // namespace robusta
