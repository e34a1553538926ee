// Longest chain first, best candidate first: a greedy cover of the graph by patterns (maximal munch: Cattell
// 1978, "Formalization and Automatic Derivation of Code Generators").
//
// What always holds: every layer belongs to exactly one unit, and values between fused layers have no other reader.

#include "net/plan/kernel_choice.h"

#include <algorithm>
#include <set>

#include "base/nearest.h"
#include "base/str.h"
#include "device/cpu/host_memory.h"
#include "layers/kit/roles.h"
#include "net/plan/precision.h"
#include "robusta/error.h"

namespace robusta {
namespace {

/// Nodes in a row, of which each one's top 0 is read by the next alone.
struct NodeChain {
  std::vector<NodeId> nodes;
  std::vector<int> chain_bottoms;  ///< per node which bottom the node before gives; -1 for the first
};

/// Nets that never run backward have no wishes written down.
bool wants_gradient(const Node& node, size_t bottom) {
  return bottom < node.bottom_grads.size() && node.bottom_grads[bottom];
}

/// True when the reader of what `node` gives may join a chain that ends with it: it is the only reader of the only top,
/// nobody else needs to see that top, and what it reads besides is there before the chain begins. A layer whose blob is
/// overwritten reads in backward what no chain of its has computed.
bool may_fuse(const Graph& graph, const NetOptions& options, const Node& node, const FormOf& form_of) {
  if (node.tops.size() != 1) return false;
  const BlobVersion& between = graph.versions[node.tops[0]];
  if (!between.consumer || between.loss_weight != 0) return false;
  if (options.keep_blobs && !between.hidden_by_later) return false;
  const auto& seeds = options.seed_diffs;
  if (!between.hidden_by_later && std::find(seeds.begin(), seeds.end(), between.name) != seeds.end()) return false;
  const Node& follower = graph.nodes[between.consumer];
  if (node.overwritten_by || follower.overwritten_by || between.read_back) return false;
  for (const VersionId version : follower.bottoms) {
    if (version != node.tops[0] && !form_of(version)) return false;
  }
  if (!options.backward) return true;
  const bool passes_on = !node.backward || wants_gradient(follower, static_cast<size_t>(between.bottom));
  return node.backward == follower.backward && passes_on;
}

std::vector<const Layer*> layers_of(const Graph& graph, const NodeChain& chain) {
  std::vector<const Layer*> layers;
  for (const NodeId n : chain.nodes) layers.push_back(graph.nodes[n].layer.get());
  return layers;
}

/// The chain that starts at `node`, as long as any candidate might take.
NodeChain chain_from(const Graph& graph, const NetOptions& options, NodeId node, DType storage, const FormOf& form_of) {
  NodeChain chain{{node}, {-1}};
  while (options.fuse) {
    const Node& last = graph.nodes[chain.nodes.back()];
    if (!may_fuse(graph, options, last, form_of)) break;
    const BlobVersion& between = graph.versions[last.tops[0]];
    if (storage_of(graph, options, between.consumer) != storage) break;
    NodeChain longer = chain;
    longer.nodes.push_back(between.consumer);
    longer.chain_bottoms.push_back(between.bottom);
    if (!begins_chain(layers_of(graph, longer), options.device->kernel_kind())) break;
    chain = std::move(longer);
  }
  return chain;
}

/// What the nodes read from outside of the chain.
std::vector<UnitBottom> bottoms_of(const Graph& graph, const NodeChain& chain) {
  std::vector<UnitBottom> bottoms;
  for (size_t i = 0; i < chain.nodes.size(); ++i) {
    const Node& node = graph.nodes[chain.nodes[i]];
    for (size_t b = 0; b < node.bottoms.size(); ++b) {
      if (static_cast<int>(b) != chain.chain_bottoms[i]) bottoms.push_back({node.bottoms[b], wants_gradient(node, b)});
    }
  }
  return bottoms;
}

/// Of what the node gives. Not where programs may change blobs, or stop, between the two (PlanBuilder::ask_for_sums).
bool moments_follow(const Graph& graph, const NetOptions& options, const Node& node) {
  if (options.keep_blobs || !graph.sizers.empty() || node.tops.empty()) return false;
  const NodeId reader = graph.versions[node.tops[0]].consumer;
  const auto* norm = reader ? dynamic_cast<const ChannelNorm*>(graph.nodes[reader].layer.get()) : nullptr;
  return norm && !norm->uses_global_stats();
}

KernelRequest make_request(const Graph& graph, const NetOptions& options, const NodeChain& chain, const FormOf& form_of,
                           DType storage) {
  KernelRequest request;
  request.layers = layers_of(graph, chain);
  request.chain_bottoms = chain.chain_bottoms;
  request.backward = options.backward && graph.nodes[chain.nodes.front()].backward;
  request.moments_follow = moments_follow(graph, options, graph.nodes[chain.nodes.back()]);
  request.tuner = options.tuner;
  request.device = options.device;
  for (const UnitBottom& bottom : bottoms_of(graph, chain)) {
    request.bottoms.push_back(*form_of(bottom.version));
    request.bottom_grads.push_back(request.backward && bottom.gradient);
  }
  for (const VersionId v : graph.nodes[chain.nodes.back()].tops) {
    request.tops.push_back({graph.versions[v].shape, storage, nullptr});
  }
  for (const NodeId n : chain.nodes) {
    const Node& node = graph.nodes[n];
    for (size_t i = 0; i < node.params.size(); ++i) {
      request.params.push_back(node.params[i]->desc);
      request.param_grads.push_back(request.backward && node.param_grads[i]);
    }
  }
  return request;
}

/// For the plan report: types joined by '+'.
std::string chain_name(const std::vector<const Layer*>& layers) {
  std::string name;
  for (const Layer* layer : layers) name += (name.empty() ? "" : "+") + layer->type();
  return name;
}

/// With one backend asked for, the others serve only where it has nothing.
std::vector<const KernelCandidate*> candidates_for(LayerChain layers, const NetOptions& options) {
  std::vector<const KernelCandidate*> all = kernel_candidates(layers, options.device->kernel_kind());
  if (options.kernels == "auto") return all;
  if (options.kernels == "reference") {
    std::erase_if(all, [](const KernelCandidate* c) { return c->backend != "reference"; });
  }
  std::stable_partition(all.begin(), all.end(),
                        [&](const KernelCandidate* c) { return c->backend == options.kernels; });
  return all;
}

/// oneDNN crashes where it gets no memory for the code that it writes.
void require_room_for_code() {
  constexpr size_t kLeast = size_t{32} << 20;
  if (address_space_leaves() >= kLeast) return;
  throw Error(ErrorKind::kMemory, "less than 32 MiB of address space are left to plan the net with",
              "raise `ulimit -v`, or lower the batch size (-batch)");
}

bool any_in_16_bits(const Node& node, const FormOf& form_of) {
  return std::ranges::any_of(node.bottoms, [&](VersionId version) { return is_16_bit(form_of(version)->dtype); });
}

/// True if a candidate took it; the unit is then complete.
bool try_chain(const Graph& graph, const NetOptions& options, const NodeChain& chain, const FormOf& form_of,
               DType storage, Unit& unit) {
  const auto candidates = candidates_for(layers_of(graph, chain), options);
  if (candidates.empty()) return false;
  require_room_for_code();
  const KernelRequest request = make_request(graph, options, chain, form_of, storage);
  for (const KernelCandidate* candidate : candidates) {
    std::string why_not;
    if (is_16_bit(storage) && candidate->backend == "reference") {
      why_not = "computes in f32 and f64";
    } else {
      unit.kernel = candidate->factory(request, why_not);
    }
    if (!unit.kernel) {
      unit.declined.push_back({chain_name(request.layers), candidate->backend, why_not});
      continue;
    }
    unit.nodes = chain.nodes;
    unit.bottoms = bottoms_of(graph, chain);
    unit.backend = candidate->backend;
    unit.storage = storage;
    unit.param_grads = request.param_grads;
    for (const NodeId n : chain.nodes) {
      for (const ParamPtr& param : graph.nodes[n].params) unit.params.push_back(param.get());
    }
    return true;
  }
  return false;
}

}  // namespace

void check_kernels(const NetOptions& options) {
  const std::string& wanted = options.kernels;
  std::set<std::string> known = kernel_backends("cpu");
  known.merge(kernel_backends(options.device->kernel_kind()));
  known.insert("auto");
  if (known.contains(wanted)) return;
  std::string list;
  for (const std::string& name : known) list += (list.empty() ? "" : ", ") + name;
  throw Error(ErrorKind::kUsage,
              str("no kernels are called \"", wanted, "\"", did_you_mean(wanted, {known.begin(), known.end()})),
              "known: " + list);
}

Unit choose_kernel(const Graph& graph, const NetOptions& options, NodeId node, const FormOf& form_of) {
  Unit unit;
  const DType wanted = storage_of(graph, options, node);
  const bool wide = follows_bottoms(graph, options, node) && !any_in_16_bits(graph.nodes[node], form_of);
  // Where no kernel takes 16 bits, one in f32 serves, with conversions around it.
  for (DType storage = wide ? options.dtype : wanted;; storage = options.dtype) {
    NodeChain chain = chain_from(graph, options, node, wanted, form_of);
    for (; !chain.nodes.empty(); chain.nodes.pop_back(), chain.chain_bottoms.pop_back()) {
      if (try_chain(graph, options, chain, form_of, storage, unit)) return unit;
    }
    if (storage == options.dtype) break;
  }
  const Layer& layer = *graph.nodes[node].layer;
  std::string reasons;
  for (const Declined& declined : unit.declined) reasons += (reasons.empty() ? ": " : "; ") + declined.reason;
  throw Error(ErrorKind::kUnsupported,
              "no kernel for layer type " + layer.type() + " on " + options.device->name() + reasons);
}

}  // namespace robusta
