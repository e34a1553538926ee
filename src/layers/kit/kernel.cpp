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

}  // namespace

bool register_kernel(KernelCandidate candidate) {
  candidates().push_back(std::move(candidate));
  return true;
}

std::vector<const KernelCandidate*> kernel_candidates(const std::string& pattern, const std::string& device) {
  std::vector<const KernelCandidate*> found;
  for (const KernelCandidate& candidate : candidates()) {
    if (candidate.pattern == pattern && candidate.device == device) found.push_back(&candidate);
  }
  // Ties are broken by name: the order of static initialisation differs between builds.
  std::sort(found.begin(), found.end(), [](const KernelCandidate* a, const KernelCandidate* b) {
    return a->priority != b->priority ? a->priority > b->priority : a->backend < b->backend;
  });
  return found;
}

int longest_pattern() {
  int longest = 1;
  for (const KernelCandidate& candidate : candidates()) {
    const int links = static_cast<int>(std::count(candidate.pattern.begin(), candidate.pattern.end(), '+'));
    longest = std::max(longest, links + 1);
  }
  return longest;
}

}  // namespace robusta
