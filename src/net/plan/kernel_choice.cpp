// Longest chain first, best candidate first: a greedy cover of the graph by patterns (maximal munch: Cattell
// 1978, "Formalization and Automatic Derivation of Code Generators").
//
// What always holds: every layer belongs to exactly one unit, and values between fused layers have no other reader.

#include "net/plan/kernel_choice.h"

#include <algorithm>

#include "net/plan/precision.h"
#include "robusta/error.h"

namespace robusta {
namespace {

/// True when `next` may join a chain that ends with `node`: it is the only reader of its only top, and nobody else
/// needs to see that top.
bool may_fuse(const Graph& graph, const NetOptions& options, const Node& node, NodeId& next) {
  if (node.tops.size() != 1) return false;
  const BlobVersion& between = graph.versions[node.tops[0]];
  if (!between.consumer || between.bottom != 0 || between.loss_weight != 0) return false;
  if (options.keep_blobs && !between.hidden_by_later) return false;
  const auto& seeds = options.seed_diffs;
  if (!between.hidden_by_later && std::find(seeds.begin(), seeds.end(), between.name) != seeds.end()) return false;
  next = between.consumer;
  const Node& follower = graph.nodes[next];
  if (follower.bottoms.size() != 1) return false;
  if (!options.backward) return true;
  return node.backward == follower.backward && (!node.backward || follower.bottom_grads[0]);
}

/// The chain that starts at `node`, as long as any candidate might take.
std::vector<NodeId> chain_from(const Graph& graph, const NetOptions& options, NodeId node, DType storage) {
  std::vector<NodeId> chain{node};
  for (NodeId next; options.fuse && static_cast<int>(chain.size()) < longest_pattern(); chain.push_back(next)) {
    if (!may_fuse(graph, options, graph.nodes[chain.back()], next)) break;
    if (storage_of(graph, options, next) != storage) break;
  }
  return chain;
}

KernelRequest make_request(const Graph& graph, const NetOptions& options, const std::vector<NodeId>& nodes,
                           const std::vector<TensorDesc>& bottoms, DType storage) {
  KernelRequest request;
  const Node& first = graph.nodes[nodes.front()];
  const Node& last = graph.nodes[nodes.back()];
  request.bottoms = bottoms;
  request.backward = options.backward && first.backward;
  request.bottom_grads = first.bottom_grads;
  if (!request.backward) request.bottom_grads.assign(first.bottoms.size(), false);
  request.tuner = options.tuner;
  request.device = options.device;
  for (const VersionId v : last.tops) {
    request.tops.push_back({graph.versions[v].shape, storage, nullptr});
  }
  for (const NodeId n : nodes) {
    const Node& node = graph.nodes[n];
    request.layers.push_back(node.layer.get());
    for (size_t i = 0; i < node.params.size(); ++i) {
      request.params.push_back(node.params[i]->desc);
      request.param_grads.push_back(request.backward && node.param_grads[i]);
    }
  }
  return request;
}

std::string pattern_of(const Graph& graph, const std::vector<NodeId>& nodes) {
  std::string pattern;
  for (const NodeId n : nodes) pattern += (pattern.empty() ? "" : "+") + graph.nodes[n].layer->type();
  return pattern;
}

/// With one backend asked for, the others serve only where it has nothing.
std::vector<const KernelCandidate*> candidates_for(const std::string& pattern, const NetOptions& options) {
  std::vector<const KernelCandidate*> all = kernel_candidates(pattern, options.device->kernel_kind());
  if (options.kernels == "auto") return all;
  if (options.kernels == "reference") {
    std::erase_if(all, [](const KernelCandidate* c) { return c->backend != "reference"; });
  }
  std::stable_partition(all.begin(), all.end(),
                        [&](const KernelCandidate* c) { return c->backend == options.kernels; });
  return all;
}

/// True if a candidate took it; the unit is then complete.
bool try_chain(const Graph& graph, const NetOptions& options, const std::vector<NodeId>& nodes,
               const std::vector<TensorDesc>& bottoms, DType storage, Unit& unit) {
  const std::string pattern = pattern_of(graph, nodes);
  const auto candidates = candidates_for(pattern, options);
  if (candidates.empty()) return false;
  const KernelRequest request = make_request(graph, options, nodes, bottoms, storage);
  for (const KernelCandidate* candidate : candidates) {
    std::string why_not;
    unit.kernel = candidate->factory(request, why_not);
    if (!unit.kernel) {
      unit.declined.push_back({pattern, candidate->backend, why_not});
      continue;
    }
    unit.nodes = nodes;
    unit.backend = candidate->backend;
    unit.storage = storage;
    unit.param_grads = request.param_grads;
    for (const NodeId n : nodes) {
      for (const ParamPtr& param : graph.nodes[n].params) unit.params.push_back(param.get());
    }
    return true;
  }
  return false;
}

}  // namespace

Unit choose_kernel(const Graph& graph, const NetOptions& options, NodeId node, const std::vector<TensorDesc>& bottoms) {
  Unit unit;
  const DType wanted = storage_of(graph, options, node);
  // Where no kernel takes 16 bits, one in f32 serves, with conversions around it.
  for (DType storage = wanted;; storage = options.dtype) {
    std::vector<NodeId> chain = chain_from(graph, options, node, wanted);
    for (; !chain.empty(); chain.pop_back()) {
      if (try_chain(graph, options, chain, bottoms, storage, unit)) return unit;
    }
    if (storage == options.dtype) break;
  }
  const Layer& layer = *graph.nodes[node].layer;
  throw Error(ErrorKind::kInternal, "no kernel for layer type " + layer.type() + " on " + options.device->name());
}

}  // namespace robusta
