// The registry of kernels. Filled by static initialisers of the kernels' files, in any order; read only afterwards, so
// that threads need no lock.

#include "layers/kit/kernel.h"

#include <algorithm>
#include <list>

namespace robusta {
namespace {

std::list<KernelCandidate>& candidates() {
  static std::list<KernelCandidate> list;
  return list;
}

/// The candidates on this kind of device whose pattern `takes` them, best first.
template <typename Takes>
std::vector<const KernelCandidate*> find(const std::string& device, const Takes& takes) {
  std::vector<const KernelCandidate*> found;
  for (const KernelCandidate& candidate : candidates()) {
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
  candidates().push_back(std::move(candidate));
  return true;
}

std::vector<const KernelCandidate*> kernel_candidates(LayerChain layers, const std::string& device) {
  return find(device, [=](const ChainPattern& pattern) { return !pattern.match(layers).empty(); });
}

std::vector<const KernelCandidate*> kernel_candidates(const std::string& type, const std::string& device) {
  return find(device, [&](const ChainPattern& pattern) { return pattern.takes(type); });
}

bool begins_chain(LayerChain layers, const std::string& device) {
  return std::any_of(candidates().begin(), candidates().end(), [&](const KernelCandidate& candidate) {
    return candidate.device == device && candidate.pattern.begins_with(layers);
  });
}

}  // namespace robusta
