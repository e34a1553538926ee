// The nets of a rank that has one stage of a pipeline. Its parameters are filled as those of the whole net are: what
// fills one is a function of seed and layer.
#include "base/log.h"
#include "robusta/error.h"
#include "solver/files/weights.h"
#include "solver/loop/net_builder.h"
#include "solver/pipeline/ranks/gathered_net.h"
#include "solver/ranks/sums/ranked_update.h"

namespace robusta {

std::unique_ptr<Net> NetBuilder::whole_net() {
  NetOptions options = options_of_whole(caffe::TRAIN);
  options.divide_batch = options_.batch_is_global;
  tune_on_root(ranks_, with_batch(train_net_of(def_)).definition(), options);
  std::unique_ptr<Net> net;
  ranks_.together([&] { net = build_train_net(options); });
  return net;
}

std::unique_ptr<Net> NetBuilder::stage_net(Net& whole, const Nets& test_nets) {
  const auto stage = static_cast<size_t>(ranks_.stage());
  NetOptions options = options_of(caffe::TRAIN);
  ranks_.together([&] {
    check_test_params(test_nets);
    cut_ = cut_nets(whole_train(whole), whole_tests(test_nets), ranks_.stages(), StagesAre::kRanks);
    cut_.train.add_gradients(stage, options);
  });
  options.stage = true;
  options.divide_batch = options_.batch_is_global;
  options.fixed_sources = cut_.train.pieces.inputs[stage];
  const int copies = passes_in_flight(options_.pipeline.order, ranks_.stage(), ranks_.stages(), def_.param.iter_size());
  options.data = data_of_copy(options.data, copies);
  const NetDef& def = cut_.train.pieces.nets[stage];
  tune_on_root(ranks_.group(), def, options);
  std::unique_ptr<Net> net;
  const auto build = [&] {
    const QuietLog quiet;  // the whole net has said it all
    net = std::make_unique<Net>(def, options);
  };
  if (!ranks_.sums_gradients()) {
    ranks_.together(build);
    return net;
  }
  options.gradient_tail = RankedUpdate::kTailBytes;
  ranks_.building([&](const Ranks::Allocate& allocate) {
    options.gradient_memory = allocate;
    build();
  });
  return net;
}

/// Nothing trains them, and only rank 0 reads files.
void NetBuilder::check_test_params(const Nets& test_nets) const {
  if (weights_.empty() && !options_.handed_over) return;
  for (const std::unique_ptr<Net>& net : test_nets) {
    for (const ParamId p : net->params().ids()) {
      if (!net->graph().filled_here[p]) continue;
      throw Error(ErrorKind::kUnsupported,
                  "the layer has parameters that are not those of the train net, and weights are loaded",
                  "in a pipeline over ranks test nets have the train net's parameters alone: leave the layer out, or "
                  "begin without weights")
          .in_layer(net->params()[p]->layer);
    }
  }
}

std::unique_ptr<RankPipeline> NetBuilder::rank_pipeline(Net& whole, const Nets& test_nets, Net& own) {
  NetOptions of_tests = options_of(caffe::TEST);
  of_tests.stage = true;
  auto pipeline =
      std::make_unique<RankPipeline>(ranks_, options_.pipeline.order, def_.param.iter_size(), whole_train(whole),
                                     whole_tests(test_nets), std::move(cut_), own, of_tests);
  for (const std::string& line : pipeline->describe()) LOG_INFO << line;
  return pipeline;
}

void NetBuilder::begin_stages(RankPipeline& pipeline, Updater& updater) {
  bool given = !weights_.empty() || options_.handed_over;
  ranks_.broadcast_value(given);
  if (!given) return;
  GatheredNet whole(ranks_, def_, pipeline, updater);
  ranks_.root_only([&] {
    load_weights(weights_, whole.net(), "Finetuning");
    if (options_.handed_over) copy_weights(*options_.handed_over, "the phase before", whole.net());
  });
  whole.scatter_weights();
}

}  // namespace robusta
