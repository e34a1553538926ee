// Stages are built one after the other, each on its thread: kernels are then timed one at a time, as they are
// elsewhere.
#include <cassert>

#include "net/run/arrays.h"
#include "robusta/error.h"
#include "solver/pipeline/devices/device_pipeline.h"

namespace robusta {

DevicePipeline::DevicePipeline(const SolverDef& solver, const PipelineOptions& options, const WholeNet& train,
                               const std::vector<WholeNet>& tests, Updater& whole, const OptionsOf& options_of)
    : solver_(solver),
      options_(options),
      whole_net_(train.net),
      whole_(whole),
      micro_batches_(solver.param.iter_size()),
      cut_(cut_nets(train, tests, static_cast<int>(options.stages.size()), StagesAre::kGpus)),
      working_(options.stages.size()) {
  build_stages(options_of);
  places_ = find_places();
  connect();
  copy_params_of_tests(tests);
}

void DevicePipeline::build_stages(const OptionsOf& options_of) {
  const size_t count = options_.stages.size();
  for (size_t s = 0; s < count; ++s) {
    DeviceStage& stage = *stages_.emplace_back(std::make_unique<DeviceStage>());
    const int copies = passes_in_flight(options_.order, static_cast<int>(s), static_cast<int>(count), micro_batches_);
    stage.thread.run([&] {
      NetOptions options = options_of(s, caffe::TRAIN);
      if (options.budget) options.budget->update = update_arrays(solver_);
      cut_.train.add_gradients(s, options);
      options.fixed_sources = cut_.train.pieces.inputs[s];
      stage.build(cut_.train.pieces.nets[s], options, copies);
      stage.updater = std::make_unique<Updater>(solver_, stage.net());
      for (const CutNet& test : cut_.tests) {
        NetOptions of_test = options_of(s, caffe::TEST);
        of_test.fixed_sources = test.pieces.inputs[s];
        stage.add_test(test.pieces.nets[s], of_test);
      }
    });
  }
}

StageChannel& DevicePipeline::new_channel(Device& device, const TensorDesc& desc, int places) {
  assert(!desc.layout);
  return *channels_.emplace_back(std::make_unique<StageChannel>(signal_, device, desc, places));
}

void DevicePipeline::connect() {
  for (const Crossing& crossing : cut_.train.pieces.crossings) connect_train(crossing);
  for (size_t net = 0; net < cut_.tests.size(); ++net) {
    for (const Crossing& crossing : cut_.tests[net].pieces.crossings) connect_test(net, crossing);
  }
}

/// As many places as the sender has copies: what it runs forward meanwhile is never more.
void DevicePipeline::connect_train(const Crossing& crossing) {
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

void DevicePipeline::connect_test(size_t net, const Crossing& crossing) {
  StageNet& from = *stages_[static_cast<size_t>(crossing.from)]->test(net);
  StageNet& to = *stages_[static_cast<size_t>(crossing.to)]->test(net);
  const TensorDesc content = array_of(to.net(), crossing.blob, Travels::kContent).desc;
  StageChannel& there = new_channel(*from.net().options().device, content, 1);
  from.forward_ports().out.emplace_back(from.net(), crossing.blob, Travels::kContent, there);
  to.forward_ports().in.emplace_back(to.net(), crossing.blob, Travels::kContent, there);
}

/// Those that the train net does not have, once: nothing trains them.
void DevicePipeline::copy_params_of_tests(const std::vector<WholeNet>& tests) {
  for (size_t t = 0; t < tests.size(); ++t) {
    for (const std::unique_ptr<DeviceStage>& stage : stages_) {
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
