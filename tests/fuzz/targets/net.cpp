// Nets as text: planned in both phases, and run once where they are small.

#include "fuzz.h"
#include "net/net.h"
#include "schema/read_text.h"
#include "schema/splits.h"

namespace robusta::fuzz {
namespace {

constexpr size_t kRunBytes = size_t{1} << 20;

/// All that the net holds, nearly.
size_t bytes_of(const Net& net) {
  size_t bytes = net.plan().arena_bytes;
  for (const ParamPtr& param : net.params()) bytes += param->desc.bytes();
  for (const Node& node : net.graph().nodes) {
    for (const VersionId top : node.tops) bytes += static_cast<size_t>(net.graph().versions[top].shape.count());
  }
  return bytes;
}

void plan_and_run(const NetDef& whole, caffe::Phase phase, bool may_run) {
  caffe::NetState state;
  state.set_phase(phase);
  const NetDef def = net_in_state(whole, state);
  NetOptions options;
  options.phase = phase;
  options.backward = phase == caffe::TRAIN;
  options.plan_only = true;
  options.data.synthesize_missing = true;
  options.data.threads = 1;
  if (bytes_of(Net(def, options)) > kRunBytes || !may_run) return;
  options.plan_only = false;
  Net net(def, options);
  const auto batch = static_cast<uint64_t>(net.batch());
  const Pass pass{.seed = 1, .first_sample = 0, .next_sample = batch, .batch = net.batch()};
  net.forward(pass);
  if (options.backward) net.backward(pass, false);
}

void read_net_text(std::string_view input) {
  const NetDef net = parse_net(std::string(input), "net.prototxt");
  // Layers that write files are run in the folder of the targets alone; a backslash could spell a slash.
  const bool may_run = input.find_first_of("/\\") == std::string_view::npos;
  for (const caffe::Phase phase : {caffe::TRAIN, caffe::TEST}) reads([&] { plan_and_run(net, phase, may_run); });
}

[[maybe_unused]] const bool registered_net = register_target("net", read_net_text);

}  // namespace
}  // namespace robusta::fuzz
