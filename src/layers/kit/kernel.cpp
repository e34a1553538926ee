// The register of kernels: filled by static initialisers of the kernels' files, in any order, and later by plugins,
// while other threads may plan nets. Candidates are never removed nor moved: pointers to them hold for good.

#include "layers/kit/kernel.h"

#include <algorithm>
#include <list>
#include <mutex>
#include <shared_mutex>

namespace robusta {
namespace {

struct KernelRegister {
  std::shared_mutex mutex;
  std::list<KernelCandidate> candidates;
};

KernelRegister& kernels() {
  static KernelRegister made;
  return made;
}

/// The candidates on this kind of device whose pattern `takes` them, best first.
template <typename Takes>
std::vector<const KernelCandidate*> find(const std::string& device, const Takes& takes) {
  const std::shared_lock lock(kernels().mutex);
  std::vector<const KernelCandidate*> found;
  for (const KernelCandidate& candidate : kernels().candidates) {
    if (candidate.device == device && takes(candidate.pattern)) found.push_back(&candidate);
  }
  // Ties are broken by name: the order of static initialisation differs between builds.
  std::sort(found.begin(), found.end(), [](const KernelCandidate* a, const KernelCandidate* b) {
    return a->priority != b->priority ? a->priority > b->priority : a->backend < b->backend;
  });
  return found;
}

/// Bottoms in the prototxt; a layer that was made without any names has one.
int bottom_count(const Layer& layer) { return std::max(1, layer.param().bottom_size()); }

}  // namespace

ChainShare KernelRequest::share(size_t place) const {
  if (place == 0) return {};
  ChainShare share;
  for (size_t i = 0; i < place; ++i) share.first_param += static_cast<int>(layers[i]->params().size());
  share.first_bottom = static_cast<int>(bottoms.size());
  for (size_t i = place; i < layers.size(); ++i) share.first_bottom -= bottom_count(*layers[i]) - 1;
  share.chain_bottom = chain_bottoms.empty() ? 0 : chain_bottoms[place];
  return share;
}

bool register_kernel(KernelCandidate candidate) {
  const std::unique_lock lock(kernels().mutex);
  kernels().candidates.push_back(std::move(candidate));
  return true;
}

std::vector<const KernelCandidate*> kernel_candidates(LayerChain layers, const std::string& device) {
  return find(device, [=](const ChainPattern& pattern) { return !pattern.match(layers).empty(); });
}

std::vector<const KernelCandidate*> kernel_candidates(const std::string& type, const std::string& device) {
  return find(device, [&](const ChainPattern& pattern) { return pattern.takes(type); });
}

std::set<std::string> kernel_backends(const std::string& device) {
  const std::shared_lock lock(kernels().mutex);
  std::set<std::string> names;
  for (const KernelCandidate& candidate : kernels().candidates) {
    if (candidate.device == device) names.insert(candidate.backend);
  }
  return names;
}

bool begins_chain(LayerChain layers, const std::string& device) {
  const std::shared_lock lock(kernels().mutex);
  const std::list<KernelCandidate>& all = kernels().candidates;
  return std::any_of(all.begin(), all.end(), [&](const KernelCandidate& candidate) {
    return candidate.device == device && candidate.pattern.begins_with(layers);
  });
}

}  // namespace robusta
