// Tests of detectors: eval_type "detection" of solvers, and caffe test -detection.

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>

#include "comm/thread_ranks.h"
#include "process.h"
#include "support/errors.h"
#include "support/log_lines.h"
#include "support/nets.h"
#include "toy_solver.h"

namespace robusta::test {
namespace {

/// Six boxes of class 1 that begin at the corner as the only object does, which is 1 wide; widths and scores are drawn.
const std::string kEvaluation = R"(
  layer { name: "found_0" type: "DummyData" top: "i" top: "l" top: "s" top: "x1" top: "y1" top: "x2" top: "y2" PHASE
    dummy_data_param { shape { dim: 1 dim: 1 dim: 6 dim: 1 }
      data_filler { type: "constant" value: 0 } data_filler { type: "constant" value: 1 }
      data_filler { type: "uniform" min: 0 max: 1 } data_filler { type: "constant" value: 0 }
      data_filler { type: "constant" value: 0 } data_filler { type: "uniform" min: 0.2 max: 1 }
      data_filler { type: "constant" value: 1 } } }
  layer { name: "truth_0" type: "DummyData" top: "zero" top: "one" PHASE
    dummy_data_param { shape { dim: 1 dim: 1 dim: 1 dim: 1 }
      data_filler { type: "constant" value: 0 } data_filler { type: "constant" value: 1 } } }
  layer { name: "found" type: "Concat" bottom: "i" bottom: "l" bottom: "s" bottom: "x1" bottom: "y1" bottom: "x2"
    bottom: "y2" top: "found" concat_param { axis: 3 } PHASE }
  layer { name: "truth" type: "Concat" bottom: "zero" bottom: "one" bottom: "zero" bottom: "zero" bottom: "zero"
    bottom: "one" bottom: "one" bottom: "zero" top: "truth" concat_param { axis: 3 } PHASE }
  layer { name: "evaluate" type: "DetectionEvaluate" bottom: "found" bottom: "truth" top: "detection_eval"
    detection_evaluate_param { num_classes: 3 } PHASE }
)";

std::string with_phase(const std::string& phase) {
  std::string text = kEvaluation;
  for (size_t at = text.find("PHASE"); at != std::string::npos; at = text.find("PHASE")) text.replace(at, 5, phase);
  return text;
}

/// The toy training, with another net to be tested.
std::string solver_text(const std::string& settings, const std::string& more_layers = "") {
  std::string net = kToyNet;
  for (size_t at = net.find("layer {"); at != std::string::npos; at = net.find("layer {", at + 40)) {
    net.insert(at + 7, " include { phase: TRAIN }");
  }
  net.insert(net.rfind('}'), with_phase("include { phase: TEST }") + more_layers);
  return "base_lr: 0.02 lr_policy: 'fixed' random_seed: 3 max_iter: 4 test_interval: 2 test_initialization: false\n" +
         settings + "\n" + net;
}

/// The precision at every recall of the batches, of which each has one object: by the 11 points, from the rows.
double eleven_points(int batches) {
  NetOptions options;
  options.backward = false;
  options.seed = 3;
  Net net(net_def(with_phase("")), options);
  std::vector<std::pair<float, bool>> found;
  for (int i = 0; i < batches; ++i) {
    net.forward({.seed = 3, .first_sample = static_cast<uint64_t>(i), .batch = 1});
    const std::vector<float> rows = net.blobs().read("detection_eval");
    EXPECT_EQ(rows.size(), 8u * 5);
    for (size_t at = 10; at < rows.size(); at += 5) found.emplace_back(rows[at + 2], rows[at + 3] == 1);
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  double sum = 0;
  for (int point = 0; point <= 10; ++point) {
    double best = 0, right = 0;
    for (size_t i = 0; i < found.size(); ++i) {
      right += found[i].second ? 1 : 0;
      if (right / batches >= point / 10.0) best = std::max(best, right / static_cast<double>(i + 1));
    }
    sum += best / 11;
  }
  return sum;
}

TEST(DetectionScore, SolversShowTheMeanAveragePrecision) {
  // Of 7 batches, whose recalls are no tenths but 0 and 1.
  const double want = eleven_points(7);
  EXPECT_GT(want, 0.1);
  EXPECT_LT(want, 0.99);
  const LogLines log;
  Solver solver(parse_solver(solver_text("test_iter: 7 eval_type: 'detection' ap_version: '11point'"), "s.prototxt"),
                {});
  std::vector<double> tested;
  solver.on_test = [&](int, const std::vector<OutputBlob>& means) {
    ASSERT_EQ(means.size(), 1u);
    EXPECT_EQ(means[0].name, "detection_eval");
    tested.push_back(means[0].values[0]);
  };
  solver.step(4);
  ASSERT_GE(tested.size(), 1u);
  // Nothing is found of class 2: its precision is 0.
  for (const double mean : tested) EXPECT_NEAR(mean, want / 2, 1e-6);
  EXPECT_TRUE(contains(log.text(), "    Test net output #0: detection_eval = 0."));
  EXPECT_TRUE(contains(log.text(), "Missing true_pos for label: 2"));
  EXPECT_FALSE(contains(log.text(), "class1: "));
  EXPECT_FALSE(contains(log.text(), "changes nothing here"));
}

/// Once, where the solver does not say how it tests.
TEST(DetectionScore, SolversHintAtEvaluations) {
  const auto log_of = [](const std::string& settings) {
    const LogLines log;
    const Solver solver(parse_solver(solver_text("test_iter: 3 " + settings), "s.prototxt"), {});
    return log.text();
  };
  const std::string hint = "The net has a layer of type DetectionEvaluate (evaluate)";
  const std::string log = log_of("");
  const size_t first = log.find(hint);
  ASSERT_NE(first, std::string::npos) << log;
  EXPECT_EQ(log.find(hint, first + 1), std::string::npos);
  EXPECT_TRUE(contains(log, "eval_type: \"detection\" in the solver makes a mean average precision"));
  EXPECT_FALSE(contains(log_of("eval_type: 'detection'"), hint));
  EXPECT_FALSE(contains(log_of("eval_type: 'classification'"), hint));
}

TEST(DetectionScore, ClassesAreShownToo) {
  const LogLines log;
  Solver solver(
      parse_solver(solver_text("test_iter: 3 eval_type: 'detection' show_per_class_result: true"), "s.prototxt"), {});
  solver.step(3);
  EXPECT_TRUE(contains(log.text(), "class1: 0."));
}

TEST(DetectionScore, RanksTestAsOneDoes) {
  const auto score_of = [](int ranks) {
    std::vector<double> tested;
    run_thread_ranks(
        ranks,
        [&](Communicator& world) {
          omp_set_num_threads(1);
          Ranks group(world, parse_ddl_options(""));
          SolverOptions options;
          options.ranks = &group;
          Solver solver(parse_solver(solver_text("test_iter: 5 eval_type: 'detection'"), "s.prototxt"), options);
          solver.on_test = [&](int, const std::vector<OutputBlob>& means) {
            if (group.root()) tested.push_back(means[0].values[0]);
          };
          solver.step(3);
        },
        1);
    return tested;
  };
  const std::vector<double> alone = score_of(1);
  ASSERT_FALSE(alone.empty());
  EXPECT_GT(alone[0], 0);
  EXPECT_EQ(score_of(2), alone);
  EXPECT_EQ(score_of(3), alone);
}

TEST(DetectionScore, BadSolvers) {
  const auto refusal = [](const std::string& settings, const std::string& more = "") {
    return error_of(
        [&] { Solver(parse_solver(solver_text("test_iter: 2 " + settings, more), "s.prototxt"), SolverOptions{}); });
  };
  const Error type = refusal("eval_type: 'detections'");
  EXPECT_EQ(type.kind(), ErrorKind::kConfig);
  EXPECT_TRUE(contains(type.what(), "s.prototxt:2: eval_type is \"detections\"; give classification or detection"));
  const Error version = refusal("ap_version: '11Point'");
  EXPECT_EQ(version.kind(), ErrorKind::kConfig);
  EXPECT_TRUE(contains(version.what(), "s.prototxt:2: ap_version is \"11Point\"; give 11point, MaxIntegral or"));
  const Error output = refusal("eval_type: 'detection'", R"(layer { name: "more" type: "DummyData" top: "more"
      include { phase: TEST } dummy_data_param { shape { dim: 1 dim: 5 } } })");
  EXPECT_EQ(output.kind(), ErrorKind::kConfig);
  EXPECT_EQ(output.layer(), "more");
  EXPECT_TRUE(contains(output.what(), "the output \"more\" is no evaluation of detections"));
}

class DetectionProgram : public testing::Test {
 protected:
  void SetUp() override {
    write_file(folder_ / "net.prototxt", "name: 'detector' " + with_phase(""));
    // Of another net: this one has nothing to learn.
    caffe::NetParameter other;
    other.add_layer()->set_name("other");
    other.mutable_layer(0)->add_blobs()->add_data(1);
    other.mutable_layer(0)->mutable_blobs(0)->mutable_shape()->add_dim(1);
    write_file(folder_ / "other.caffemodel", other.SerializeAsString());
  }
  struct Done {
    int code;
    std::string log;
  };
  Done run(std::vector<std::string> args) const {
    args.insert(args.begin() + 1, {"-model=net.prototxt", "-weights=other.caffemodel", "-iterations=4"});
    CaffeProcess caffe(folder_.path(), args);
    const int code = caffe.wait();
    return {code, caffe.log()};
  }
  TempDir folder_;
};

TEST_F(DetectionProgram, ShowsTheMeanAveragePrecision) {
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"test", "-detection"}, std::vector<std::string>{"test_detection"}}) {
    const Done done = run(args);
    EXPECT_EQ(done.code, 0) << done.log;
    EXPECT_TRUE(contains(done.log, "    Test net output #0: detection_eval = 0.")) << done.log;
    EXPECT_TRUE(contains(done.log, "class1: 0.")) << done.log;
  }
  const Done quiet = run({"test", "-detection", "-show_per_class_result=false", "-ap_version=Integral"});
  EXPECT_EQ(quiet.code, 0) << quiet.log;
  EXPECT_FALSE(contains(quiet.log, "class1: ")) << quiet.log;
  const auto mean_in = [](const std::string& log) { return std::stod(log.substr(log.find("detection_eval = ") + 17)); };
  EXPECT_NE(mean_in(quiet.log), mean_in(run({"test", "-detection"}).log));
}

TEST_F(DetectionProgram, BadFlags) {
  const Done version = run({"test", "-detection", "-ap_version=12point"});
  EXPECT_EQ(version.code, 1) << version.log;
  EXPECT_TRUE(contains(version.log, "-ap_version is \"12point\"; give 11point, MaxIntegral or Integral"))
      << version.log;
  write_file(folder_ / "net.prototxt", "layer { name: 'a' type: 'DummyData' top: 'a' dummy_data_param { shape {} } }");
  const Done output = run({"test", "-detection"});
  EXPECT_EQ(output.code, 2) << output.log;
  EXPECT_TRUE(contains(output.log, "net.prototxt:1: layer \"a\": the output \"a\" is no evaluation")) << output.log;
}

}  // namespace
}  // namespace robusta::test
