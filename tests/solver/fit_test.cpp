// Which layers -fit cuts: a function of sizes and speeds, and trainings that take its word.
#include <algorithm>

#include "base/log.h"
#include "schema/print.h"
#include "schema/read_text.h"
#include "solver/ranked_training.h"
#include "solver/ranks/model/fit/fit_net.h"
#include "support/errors.h"
#include "support/log_lines.h"
#include "support/nets.h"
#include "support/places.h"

namespace robusta::test::fit_test {
namespace {

/// Layers of a file of models/, behind samples of this shape.
std::string model(const std::string& file, const std::string& shape) {
  caffe::NetParameter net;
  const NetDef whole = read_net(source_dir() + "/models/" + file);
  for (const caffe::LayerParameter& layer : whole.param.layer()) {
    if (layer.type() != "Data" && layer.type() != "Accuracy") *net.add_layer() = layer;
  }
  return "layer { name: 'data' type: 'DummyData' top: 'data' top: 'label' dummy_data_param { shape { " + shape +
         " } shape { dim: 64 } } } " + text_form(net);
}

std::string alexnet() { return model("bvlc_alexnet/train_val.prototxt", "dim: 64 dim: 3 dim: 227 dim: 227"); }
std::string lenet() { return model("lenet/train_val.prototxt", "dim: 64 dim: 1 dim: 28 dim: 28"); }

FitProblem problem_of(const std::string& layers, int ranks, double gb_per_second, double microseconds) {
  const NetDef def = parse_net(layers, "n.prototxt");
  NetOptions options;
  options.plan_only = true;
  const QuietLog quiet;
  const Net net(def, options);
  const FitOptions links{true, gb_per_second, microseconds};
  return fit_problem(net, model_cuts(def, ranks), layers_with_wishes(def), ranks, assumed_speeds(links, ranks), 1);
}

/// "fc6:4 fc7:4 "
std::string chosen(const FitProblem& problem) {
  std::string text;
  const FitChoice choice = fit(problem);
  for (size_t i = 0; i < choice.size(); ++i) {
    const FitLayer& layer = problem.layers[i];
    if (choice[i] > 0) text += layer.name + ":" + std::to_string(layer.options[choice[i]].parts) + " ";
  }
  return text;
}

/// The parts that a layer may have: "1 2 4 ".
std::string options_of(const FitProblem& problem, const std::string& name) {
  std::string text;
  for (const FitOption& option : std::ranges::find(problem.layers, name, &FitLayer::name)->options)
    text += std::to_string(option.parts) + " ";
  return text;
}

TEST(Fit, SlowLinksCutTheClassifiersOfAlexNet) {
  for (const double gb_per_second : {0.02, 0.05}) {
    EXPECT_EQ(chosen(problem_of(alexnet(), 2, gb_per_second, 50)).substr(0, 12), "fc6:2 fc7:2 ") << gb_per_second;
    EXPECT_EQ(chosen(problem_of(alexnet(), 4, gb_per_second, 50)).substr(0, 12), "fc6:4 fc7:4 ") << gb_per_second;
  }
}

TEST(Fit, FastLinksCutNothingOfASmallNet) {
  for (const int ranks : {2, 4}) EXPECT_EQ(chosen(problem_of(lenet(), ranks, 10, 20)), "") << ranks;
}

/// Nor do slow ones where each message costs more than what it saves.
TEST(Fit, LatencyForbidsCuts) {
  EXPECT_NE(chosen(problem_of(lenet(), 4, 0.01, 1)), "");
  EXPECT_EQ(chosen(problem_of(lenet(), 4, 0.01, 1e6)), "");
}

TEST(Fit, ACutIsWorthWhatItSaves) {
  const FitProblem problem = problem_of(alexnet(), 4, 0.1, 50);
  const FitChoice none(problem.layers.size(), 0), taken = fit(problem);
  EXPECT_LT(iteration_seconds(problem, taken), 0.95 * iteration_seconds(problem, none));
  // And no other option of a single layer is better by more than what is not worth it.
  for (size_t i = 0; i < taken.size(); ++i) {
    FitChoice other = taken;
    for (other[i] = 0; other[i] < problem.layers[i].options.size(); ++other[i])
      EXPECT_GT(iteration_seconds(problem, other),
                iteration_seconds(problem, taken) - 0.05 * iteration_seconds(problem, none));
  }
}

/// Two layers, the first of which may be cut: forward 1 and 2 s, backward 3 and 4, updates 0.5 each.
FitProblem by_hand() {
  const FitOption first{.forward = 1, .backward = 3, .update = 0.5, .gradients = 8};
  FitOption cut = first;
  cut.parts = 2, cut.x = 2, cut.y = 1, cut.gradients = 4, cut.update = 0.25;
  const FitOption second{.forward = 2, .backward = 4, .update = 0.5, .gradients = 6};
  FitProblem problem{.layers = {{"a", {first, cut}}, {"b", {second}}}, .links = {}, .bucket = 1};
  problem.links.all = {0.5, 1};
  problem.links.all_parts[2] = {0.25, 0.125};
  problem.links.same_part[2] = {0.5, 0.5};
  return problem;
}

TEST(Fit, AnIterationIsSimulated) {
  FitProblem problem = by_hand();
  // Backward of b ends at 7, of a at 10; b's sum takes 6.5, up to 13.5, then a's 8.5, up to 22; and the updates.
  EXPECT_EQ(iteration_seconds(problem, {0, 0}), 22 + 1);
  // Exchanges of 0.5 and 0.375: b is done at 7.875, a at 11.75; sums end at 14.375 and, of the part, 16.875.
  EXPECT_EQ(iteration_seconds(problem, {1, 0}), 16.875 + 0.75);
  // One bucket for both, when the second is complete.
  problem.bucket = 10;
  EXPECT_EQ(iteration_seconds(problem, {0, 0}), 10 + 14.5 + 1);
  // Sums are of the last pass alone, exchanges of each.
  problem.bucket = 1;
  problem.passes = 2;
  EXPECT_EQ(iteration_seconds(problem, {0, 0}), 10 + 22 + 1);
  EXPECT_EQ(iteration_seconds(problem, {1, 0}), 11.75 + 16.875 + 0.75);
  // What has no gradient sends none.
  problem.layers[0].options[1].wants_x = false;
  EXPECT_EQ(iteration_seconds(problem, {1, 0}), 11.25 + 16.875 + 0.75);
  problem.passes = 1;
  problem.layers[0].options[1].back = false;
  problem.links.same_part[2] = {};
  EXPECT_EQ(iteration_seconds(problem, {1, 0}), 14.375 + 0.75);
  EXPECT_EQ(fit(problem), (FitChoice{1, 0}));
}

/// As the table of buckets has it: what is open is summed before a part, and what comes later apart from it.
TEST(Fit, APartEndsABucket) {
  FitProblem problem = by_hand();
  problem.bucket = 10;
  const FitOption before{.forward = 1, .backward = 1, .update = 0.5, .gradients = 8};
  problem.layers.insert(problem.layers.begin(), {"before", {before}});
  // Backward is done at 8.875, 12.75 and 13.75; sums of 6.5, of the part 2.5, and of 8.5 follow each other.
  EXPECT_EQ(iteration_seconds(problem, {0, 1, 0}), 12.75 + 6.5 + 2.5 + 8.5 + 1.25);
}

TEST(Fit, EvenLinksAreThoseOfAReduceScatterAndAnAllGather) {
  const FitLinks links = even_links(4, 100, 0.5);
  EXPECT_EQ(links.all.of(8), 1 + 2 * 0.75 * 8 / 100);
  EXPECT_EQ(links.all.of(0), 0);
  EXPECT_EQ(links.all_parts.at(4).of(8), 0.5 + 3 * 8 / 100.0);
  EXPECT_EQ(links.all_parts.at(2).of(8), 0.5 + 8 / 100.0);
  EXPECT_EQ(links.same_part.at(2).of(8), 1 + 8 / 100.0);
  EXPECT_EQ(links.same_part.at(4).of(8), 0);
  EXPECT_FALSE(links.all_parts.contains(3));
}

std::string layer(const std::string& type, const std::string& top, const std::string& fields) {
  return "layer { name: '" + top + "' type: '" + type + "' bottom: 'data' top: '" + top + "' " + fields + " } ";
}

/// What the prototxt could not ask for is not chosen either, and what it says is not changed.
TEST(Fit, OnlyWhatCanBeCutIsLookedAt) {
  const std::string shared = "param { name: 'w' } param { name: 'b' } inner_product_param { num_output: 8 }",
                    loss = "layer { name: 'sum' type: 'Reduction' bottom: 'plain' top: 'sum' loss_weight: 1 } ";
  const FitProblem problem = problem_of(
      "layer { name: 'data' type: 'DummyData' top: 'data' dummy_data_param { shape { dim: 2 dim: 12 dim: 5 dim: 5 } } "
      "} " +
          layer("InnerProduct", "plain", "inner_product_param { num_output: 8 }") +
          layer("InnerProduct", "uneven", "inner_product_param { num_output: 6 }") +
          layer("InnerProduct", "transposed", "inner_product_param { num_output: 8 transpose: true }") +
          layer("InnerProduct", "shared", shared) + layer("InnerProduct", "sharer", shared) +
          layer("InnerProduct", "whole", "multinode { model_parts: 1 } inner_product_param { num_output: 8 }") +
          layer("InnerProduct", "asked", "multinode { model_parts: 2 } inner_product_param { num_output: 8 }") +
          layer("Convolution", "conv", "convolution_param { num_output: 8 kernel_size: 3 }") +
          layer("Convolution", "groups", "convolution_param { num_output: 12 kernel_size: 3 group: 2 }") +
          layer("Deconvolution", "other", "convolution_param { num_output: 8 kernel_size: 3 }") + loss,
      4, 0.001, 1);
  EXPECT_EQ(options_of(problem, "plain"), "1 2 4 ");
  EXPECT_EQ(options_of(problem, "uneven"), "1 2 ");
  EXPECT_EQ(options_of(problem, "transposed"), "1 ");
  EXPECT_EQ(options_of(problem, "shared"), "1 ");
  EXPECT_EQ(options_of(problem, "sharer"), "1 ");
  EXPECT_EQ(options_of(problem, "whole"), "1 ");
  EXPECT_EQ(options_of(problem, "asked"), "2 ");
  EXPECT_EQ(options_of(problem, "conv"), "1 2 4 ");
  EXPECT_EQ(options_of(problem, "groups"), "1 2 ");
  EXPECT_EQ(options_of(problem, "other"), "1 ");
}

/// Two wide layers behind a convolution.
std::string wide(const std::string& fields = "") {
  const auto inner_product = [](const std::string& name, const std::string& bottom, int outputs,
                                const std::string& more) {
    return "layer { name: '" + name + "' type: 'InnerProduct' bottom: '" + bottom + "' top: '" + name + "' " + more +
           " inner_product_param { num_output: " + std::to_string(outputs) + " weight_filler { type: 'xavier' } } } ";
  };
  return kConv + inner_product("hidden", "conv", 512, fields) +
         "layer { name: 'rectified' type: 'ReLU' bottom: 'hidden' top: 'hidden' } " +
         inner_product("more", "hidden", 256, "") + inner_product("ip", "more", 4, "") + loss_layer();
}

class FitTraining : public Training {
 protected:
  void SetUp() override { setenv("XDG_CACHE_HOME", cache_.path().c_str(), 1); }
  void TearDown() override { unsetenv("XDG_CACHE_HOME"); }

  /// "hidden:2 more:2 " of each rank, which are the same.
  static std::string cuts_of(const std::string& layers, int ranks, const std::string& ddl,
                             const std::string& more = "") {
    std::vector<std::string> texts(static_cast<size_t>(ranks));
    run_thread_ranks(ranks, [&](Communicator& world) {
      omp_set_num_threads(1);
      Ranks group(world, parse_ddl_options(ddl));
      SolverOptions options;
      options.ranks = &group;
      Solver solver(parse_solver(kFixed + more + "random_seed: 3 net_param { " + data_layer(4) + layers + "}", "m"),
                    options);
      solver.step(1);
      if (!solver.model_ranks()) return;
      for (const ModelCut& cut : solver.model_ranks()->cuts())
        texts[static_cast<size_t>(world.rank())] += cut.layer + ":" + std::to_string(cut.parts) + " ";
    });
    for (const std::string& text : texts) EXPECT_EQ(text, texts[0]);
    return texts[0];
  }

  TempDir cache_;
};

TEST_F(FitTraining, TrainsWithTheCutsThatItChooses) {
  const std::string slow = "-fit 0.001:1", fast = "-fit 1000:100";
  EXPECT_EQ(cuts_of(wide(), 2, slow), "hidden:2 more:2 ");
  EXPECT_EQ(cuts_of(wide(), 4, slow), "hidden:4 more:4 ");
  EXPECT_EQ(cuts_of(wide(), 4, fast), "");
  EXPECT_EQ(cuts_of(wide(), 4, ""), "");
  EXPECT_EQ(cuts_of(wide(), 1, slow), "");
  for (const std::string& ddl : {slow, fast}) {
    for (const int ranks : {2, 4}) {
      const Run run{.settings = kFixed, .layers = wide(), .ranks = ranks, .ddl = ddl};
      Run one = run;
      one.ranks = 1;
      one.ddl = "";
      expect_same(train(run), train(one), 1e-6);
    }
  }
}

TEST_F(FitTraining, KeepsWhatThePrototxtSays) {
  EXPECT_EQ(cuts_of(wide("multinode { model_parts: 2 }"), 4, "-fit 0.001:1"), "hidden:2 more:4 ");
  EXPECT_EQ(cuts_of(wide("multinode { model_parts: 1 }"), 4, "-fit 0.001:1"), "more:4 ");
}

TEST_F(FitTraining, CutsNothingWhereNothingCanBe) {
  EXPECT_EQ(cuts_of(wide(), 2, "-fit 0.001:1", "type: 'LAMB' "), "");
  EXPECT_EQ(cuts_of(wide(), 2, "-fit 0.001:1", "snapshot_diff: true "), "");
}

/// Whatever comes of it here, it is the same the next time: links are measured once.
TEST_F(FitTraining, MeasuresAndRemembers) {
  const std::string file = cache_ / "robusta/all_reduce", first = cuts_of(wide(), 4, "-fit auto"),
                    kept = read_file(file);
  for (const std::string key : {"/fit/all ", "/fit/parts2 ", "/fit/parts4 ", "/fit/same2 ", "/fit/rates "})
    EXPECT_TRUE(contains(kept, key)) << kept;
  EXPECT_EQ(cuts_of(wide(), 4, "-fit auto"), first);
  EXPECT_EQ(read_file(file), kept);
  // What is remembered decides: links that are a million times slower.
  std::string slow;
  std::istringstream lines(kept);
  for (std::string key, value; lines >> key >> value;)
    slow += key + " " + (contains(key, "/fit/all") ? "0x1p-20:0x1p-3" : value) + "\n";
  write_file(file, slow);
  const std::string cuts = cuts_of(wide(), 4, "-fit auto");
  EXPECT_TRUE(contains(cuts, "hidden:") && contains(cuts, "more:")) << cuts;
}

TEST_F(FitTraining, SaysWhy) {
  const LogLines lines;
  cuts_of(wide(), 2, "-fit 0.001:1");
  const auto has = [&](const std::string& text) {
    return contains(lines.text(), text) ? testing::AssertionSuccess() : testing::AssertionFailure() << lines.text();
  };
  EXPECT_TRUE(has("Fit: a sum over all ranks 0.002 ms + 0.001 GB/s; among 2 parts 0.001 ms + 0.001 GB/s"));
  EXPECT_TRUE(has("sent whole"));
  // 513 x 256 weights: to sum, and summed; and 4 x (512 + 128) activations both ways.
  EXPECT_TRUE(has("more                     2     513.0 KiB     20.0 KiB"));
  EXPECT_TRUE(has("An iteration is foretold to take"));
}

}  // namespace
}  // namespace robusta::test::fit_test
