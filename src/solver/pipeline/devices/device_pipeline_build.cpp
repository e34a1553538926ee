// Stages are built one after the other, each on its thread: kernels are then timed one at a time, as they are
// elsewhere.
#include <cassert>

#include "net/run/arrays.h"
#include "robusta/error.h"
#include "solver/pipeline/pipeline.h"
#include "solver/pipeline/placement.h"

namespace robusta {

/// A net in pieces.
struct Pipeline::Cut {
  StageNets pieces;

  /// What the net of a stage sends and is sent, as its options name it.
  void add_gradients(size_t stage, NetOptions& options) const {
    for (const Crossing& crossing : pieces.crossings) {
      if (!crossing.gradient) continue;
      if (static_cast<size_t>(crossing.from) == stage) options.seed_diffs.push_back(crossing.blob);
      if (static_cast<size_t>(crossing.to) == stage) options.input_diffs.push_back(crossing.blob);
    }
  }
};

Pipeline::Pipeline(const SolverDef& solver, const PipelineOptions& options, const WholeNet& train,
                   const std::vector<WholeNet>& tests, Updater& whole, const OptionsOf& options_of)
    : solver_(solver),
      options_(options),
      whole_net_(train.net),
      whole_(whole),
      micro_batches_(solver.param.iter_size()),
      working_(options.stages.size()) {
  const auto stages = static_cast<int>(options_.stages.size());
  const std::vector<int> trained = place_layers(train.def, stages);
  require_all_stages(train.def, trained, stages);
  const Cut train_cut{cut_into_stages(train.def, train.net.graph(), trained, stages)};
  std::vector<Cut> test_cuts;
  for (const WholeNet& test : tests) {
    const std::vector<int> tested = place_layers(test.def, stages);
    require_same_places(train.def, trained, test.def, tested);
    test_cuts.push_back({cut_into_stages(test.def, test.net.graph(), tested, stages)});
    test_outputs_.push_back(test_cuts.back().pieces.outputs);
  }
  inputs_ = train_cut.pieces.inputs;
  outputs_ = train_cut.pieces.outputs;
  build_stages(train_cut, test_cuts, options_of);
  places_ = find_places();
  connect(train_cut, test_cuts);
  copy_params_of_tests(tests);
}

void Pipeline::build_stages(const Cut& train, const std::vector<Cut>& tests, const OptionsOf& options_of) {
  const size_t count = options_.stages.size();
  for (size_t s = 0; s < count; ++s) {
    PipelineStage& stage = *stages_.emplace_back(std::make_unique<PipelineStage>());
    const int copies = passes_in_flight(options_.order, static_cast<int>(s), static_cast<int>(count), micro_batches_);
    stage.thread().run([&] {
      NetOptions options = options_of(s, caffe::TRAIN);
      if (options.budget) options.budget->update = update_arrays(solver_);
      train.add_gradients(s, options);
      options.fixed_sources = train.pieces.inputs[s];
      stage.build(train.pieces.nets[s], options, copies);
      stage.make_updater(solver_);
      for (const Cut& test : tests) {
        NetOptions of_test = options_of(s, caffe::TEST);
        of_test.fixed_sources = test.pieces.inputs[s];
        stage.add_test(test.pieces.nets[s], of_test);
      }
    });
  }
}

StageChannel& Pipeline::new_channel(Device& device, const TensorDesc& desc, int places) {
  assert(!desc.layout);
  return *channels_.emplace_back(std::make_unique<StageChannel>(signal_, device, desc, places));
}

void Pipeline::connect(const Cut& train, const std::vector<Cut>& tests) {
  for (const Crossing& crossing : train.pieces.crossings) connect_train(crossing);
  for (size_t net = 0; net < tests.size(); ++net) {
    for (const Crossing& crossing : tests[net].pieces.crossings) connect_test(net, crossing);
  }
}

/// As many places as the sender has copies: what it runs forward meanwhile is never more.
void Pipeline::connect_train(const Crossing& crossing) {
  PipelineStage &from = *stages_[static_cast<size_t>(crossing.from)], &to = *stages_[static_cast<size_t>(crossing.to)];
  Device& device = *options_.stages[static_cast<size_t>(crossing.from)].device;
  const TensorDesc content = array_of(to.net(), crossing.blob, Travels::kContent).desc;
  StageChannel& there = new_channel(device, content, from.copies());
  for (StageNet& copy : from.all_copies())
    copy.forward_ports().out.emplace_back(copy.net(), crossing.blob, Travels::kContent, there);
  for (StageNet& copy : to.all_copies())
    copy.forward_ports().in.emplace_back(copy.net(), crossing.blob, Travels::kContent, there);
  if (!crossing.gradient) return;
  const TensorDesc gradient = array_of(from.net(), crossing.blob, Travels::kGradient).desc;
  StageChannel& back = new_channel(device, gradient, from.copies());
  for (StageNet& copy : to.all_copies())
    copy.backward_ports().out.emplace_back(copy.net(), crossing.blob, Travels::kGradient, back);
  for (StageNet& copy : from.all_copies())
    copy.backward_ports().in.emplace_back(copy.net(), crossing.blob, Travels::kGradient, back);
}

void Pipeline::connect_test(size_t net, const Crossing& crossing) {
  StageNet& from = *stages_[static_cast<size_t>(crossing.from)]->test(net);
  StageNet& to = *stages_[static_cast<size_t>(crossing.to)]->test(net);
  const TensorDesc content = array_of(to.net(), crossing.blob, Travels::kContent).desc;
  StageChannel& there = new_channel(*from.net().options().device, content, 1);
  from.forward_ports().out.emplace_back(from.net(), crossing.blob, Travels::kContent, there);
  to.forward_ports().in.emplace_back(to.net(), crossing.blob, Travels::kContent, there);
}

/// Those that the train net does not have, once: nothing trains them.
void Pipeline::copy_params_of_tests(const std::vector<WholeNet>& tests) {
  for (size_t t = 0; t < tests.size(); ++t) {
    for (const std::unique_ptr<PipelineStage>& stage : stages_) {
      if (!stage->test(t)) continue;
      Net& net = stage->test(t)->net();
      for (const ParamId p : net.params().ids()) {
        if (!net.graph().filled_here[p]) continue;
        Param& own = *net.params()[p];
        const ParamPtr from = tests[t].net.layer_params(own.layer)[static_cast<size_t>(own.index)];
        store_array(net.stream(), own.tensor(), from->data);
        ++own.version;
      }
    }
  }
}

}  // namespace robusta
