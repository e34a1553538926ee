#include "support/lms.h"

#include <filesystem>

#include "schema/filter.h"
#include "schema/read_text.h"
#include "schema/splits.h"
#include "support/places.h"

namespace robusta::test {

NetDef model_def(const std::string& model) {
  const auto file = std::filesystem::path(source_dir()) / "models" / model / "train_val.prototxt";
  caffe::NetState state;
  state.set_phase(caffe::TRAIN);
  return insert_splits(filter_net(read_net(file.string()), state));
}

NetOptions resident_options(Device& device, int64_t batch) {
  NetOptions options;
  options.device = &device;
  options.batch = batch;
  options.data.synthesize_missing = true;
  return options;
}

NetOptions with_arena(NetOptions options, const Net& resident, size_t bytes) {
  options.budget = std::make_shared<MemoryBudget>();
  options.budget->limit = fixed_memory(resident) + bytes;
  options.budget->source = "a test";
  options.lms.mode = LmsOptions::Mode::kAuto;
  return options;
}

size_t least_arena(const Net& resident) {
  NetOptions options = with_arena(resident.options(), resident, 0);
  options.plan_only = true;
  options.arena = nullptr;
  return Net(resident.graph().def, options).plan().arena_bytes;
}

NetOptions with_share(const NetOptions& options, const Net& resident, double share) {
  const size_t least = least_arena(resident), all = resident.plan().arena_bytes;
  return with_arena(options, resident, least + static_cast<size_t>(static_cast<double>(all - least) * share));
}

size_t fixed_memory(const Net& net) {
  size_t params = 0;
  for (const ParamPtr& param : net.params()) params += align_up(param->desc.bytes());
  return params * (net.options().backward ? 2 : 1) + net.plan().persistent_bytes;
}

}  // namespace robusta::test
