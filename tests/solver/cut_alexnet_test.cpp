// AlexNet (models/bvlc_alexnet), layers cut among ranks: the structure of the file, with fewer channels and smaller
// images.
#include "schema/print.h"
#include "schema/read_text.h"
#include "solver/ranked_training.h"
#include "solver/ranks/model/cut_net.h"
#include "support/places.h"

namespace robusta::test::cut_alexnet_test {
namespace {

constexpr int kImage = 104, kCrop = 99, kBatch = 8;

/// A fourth of the outputs, in fours, and weights that suit them.
template <typename Param>
void shrink(Param* param) {
  param->set_num_output(param->num_output() / 16 * 4);
  param->mutable_weight_filler()->set_type("xavier");
  param->mutable_weight_filler()->clear_std();
}

/// The layers of the file but data and accuracies.
std::string alexnet(const std::string& ranges) {
  caffe::NetParameter small;
  const NetDef whole = read_net(source_dir() + "/models/bvlc_alexnet/train_val.prototxt");
  for (caffe::LayerParameter layer : whole.param.layer()) {
    if (layer.type() == "Data" || layer.type() == "Accuracy") continue;
    if (layer.type() == "Convolution") shrink(layer.mutable_convolution_param());
    if (layer.type() == "InnerProduct") shrink(layer.mutable_inner_product_param());
    *small.add_layer() = layer;
  }
  return "multinode { " + ranges + "} " + text_form(small);
}

std::string range(const std::string& from, const std::string& to, int parts) {
  return "model_parallel { layer_from: '" + from + "' layer_to: '" + to + "' model_parts: " + std::to_string(parts) +
         " } ";
}

class CutAlexNet : public Training {
 protected:
  static void SetUpTestSuite() {
    Training::SetUpTestSuite();
    write_database(*folder_ / "images", 16, [](int i) {
      return raw_datum({3, kImage, kImage}, i * 7 % kClasses, static_cast<uint64_t>(i * 7 % kClasses + 1));
    });
  }

  static std::string images(int batch) {
    return "layer { name: 'data' type: 'Data' top: 'data' top: 'label' data_param { source: '" + (*folder_ / "images") +
           "' batch_size: " + std::to_string(batch) + " } transform_param { crop_size: " + std::to_string(kCrop) +
           " mirror: true scale: 0.01 } } ";
  }

  static Run run_of(const std::string& fields, int ranks) {
    return {.settings = "base_lr: 0.01 lr_policy: 'fixed' ",
            .layers = alexnet(fields),
            .ranks = ranks,
            .iterations = 2,
            .dtype = DType::kF32,
            .data = images(kBatch / ranks)};
  }

  /// What a rank sends in an iteration, as it is counted and as it is foretold of cut layers.
  struct Sent {
    double gradients = 0, activations = 0;                              ///< counted
    double part_gradients = 0, foretold = 0, cut_in_data_parallel = 0;  ///< of cut layers, foretold
  };
  static Sent sent(const std::string& fields, int ranks) {
    constexpr int kIterations = 2;
    Sent sent;
    run_thread_ranks(ranks, [&](Communicator& world) {
      omp_set_num_threads(1);
      Ranks group(world, {});
      SolverOptions options;
      options.ranks = &group;
      Solver solver(parse_solver(run_of("", ranks).settings + "random_seed: 3 net_param { " + images(kBatch / ranks) +
                                     alexnet(fields) + "}",
                                 "a"),
                    options);
      solver.step(kIterations);
      if (world.rank() != 0) return;
      for (const DimensionTime& time : solver.ranked_update()->reducer().sums().take_times())
        (time.algorithm == "activations" ? sent.activations : sent.gradients) += time.bytes / kIterations;
      if (!solver.model_ranks()) return;
      for (const ModelCut& cut : solver.model_ranks()->cuts()) {
        const CutTraffic traffic = traffic_of(solver.train_net(), cut, ranks);
        sent.foretold += traffic.activations;
        sent.part_gradients += traffic.gradients;
        sent.cut_in_data_parallel += traffic.data_parallel;
      }
    });
    return sent;
  }
};

TEST_F(CutAlexNet, HasTheNumbersOfOneRank) {
  const Outcome one = train(run_of("", 1));
  const std::pair<int, std::string> cuts[] = {{2, range("fc6", "fc8", 0)},
                                              {4, range("fc6", "fc8", 0)},
                                              {4, range("fc6", "fc8", 2)},
                                              {2, range("conv1", "fc8", 2)},
                                              {4, range("conv1", "pool5", 2) + range("fc6", "fc8", 4)}};
  for (const auto& [ranks, fields] : cuts) expect_same(train(run_of(fields, ranks)), one, 1e-4);
}

/// Of classifiers activations travel in place of gradients: as many bytes as foretold, and as much fewer.
TEST_F(CutAlexNet, SendsWhatIsForetold) {
  for (const int ranks : {2, 4}) {
    const Sent whole = sent("", ranks), cut = sent(range("fc6", "fc8", 0), ranks);
    EXPECT_EQ(cut.activations, cut.foretold) << ranks;
    EXPECT_EQ(cut.part_gradients, 0) << ranks;
    // The rest is that of the convolutions, votes, and what aligns parameters.
    EXPECT_NEAR(whole.gradients - cut.gradients, cut.cut_in_data_parallel, 0.01 * whole.gradients) << ranks;
    EXPECT_LT(20 * cut.foretold, cut.cut_in_data_parallel) << ranks;
    EXPECT_LT(4 * (cut.gradients + cut.activations), whole.gradients) << ranks;

    const Sent convolutions = sent(range("conv1", "fc8", 2), ranks);
    EXPECT_EQ(convolutions.activations, convolutions.foretold) << ranks;
    EXPECT_NEAR(whole.gradients - convolutions.gradients,
                convolutions.cut_in_data_parallel - convolutions.part_gradients, 0.01 * whole.gradients)
        << ranks;
  }
}

}  // namespace
}  // namespace robusta::test::cut_alexnet_test
