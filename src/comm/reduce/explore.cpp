// A call counts as long as its slowest rank took, because a collective ends with its last member; of several calls the
// fastest counts, because disturbances only ever add time.

#include "comm/reduce/explore.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iomanip>
#include <limits>
#include <sstream>

#include "base/str.h"

namespace robusta {
namespace {

constexpr double kSlow = 0.2;  // seconds: a call that takes longer is not repeated, and no larger size is tried
constexpr int kMostCalls = 5;
constexpr char kAsBefore[] = "-";  // remembered for sizes that were not tried

/// Of the ranks' values the largest.
double greatest(Communicator& world, double mine) {
  const std::vector<double> all = world.gather(mine);
  return *std::max_element(all.begin(), all.end());
}

/// The algorithms that every rank's group has: a tier may have groups within a host and others.
std::vector<std::shared_ptr<Stage>> common_stages(Communicator& world, const Tier& tier) {
  std::vector<std::shared_ptr<Stage>> common;
  for (const std::shared_ptr<Stage>& stage : tier.stages) {
    const bool lacks = greatest(world, stage ? 0 : 1) > 0;
    if (!lacks) common.push_back(stage);
  }
  return common;
}

std::string word_of(const Stage& stage) { return stage.name().substr(0, stage.name().find(' ')); }

std::string key_of(const Tier& tier, size_t bytes) { return str(tier.name.substr(0, tier.name.find(' ')), "/", bytes); }

std::string time_text(double seconds) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(seconds < 1e-4 ? 1 : 0) << seconds * 1e6 << " us";
  return out.str();
}

}  // namespace

double measure(Communicator& world, const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  double best = std::numeric_limits<double>::infinity();
  // The first call also opens connections and touches memory.
  for (int call = 0; call <= kMostCalls; ++call) {
    world.barrier();
    const auto start = Clock::now();
    work();
    const double seconds = greatest(world, std::chrono::duration<double>(Clock::now() - start).count());
    if (call > 0) best = std::min(best, seconds);
    if (call > 0 && seconds > kSlow) break;
  }
  return best;
}

std::shared_ptr<Stage> explore_tier(Communicator& world, const Tier& tier, const Span& scratch, ChoiceCache& cache,
                                    std::vector<std::string>& notes) {
  const std::vector<std::shared_ptr<Stage>> stages = common_stages(world, tier);
  std::vector<SizedStage::Choice> choices;
  std::vector<size_t> sizes;
  for (size_t bytes = 4096; bytes <= scratch.bytes(); bytes *= 8) sizes.push_back(bytes);
  if (sizes.empty()) sizes.push_back(scratch.bytes());
  double slowest = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const std::string key = key_of(tier, sizes[i]), known = slowest > kSlow ? kAsBefore : cache.find(key);
    if (known == kAsBefore) {
      cache.remember(key, known);
      continue;
    }
    std::string row = str(tier.name, ", ", size_text(sizes[i]), ":");
    auto chosen = std::find_if(stages.begin(), stages.end(), [&](auto& stage) { return word_of(*stage) == known; });
    if (chosen != stages.end()) {
      row += str(" ", (*chosen)->name(), " (as before)");
    } else {
      double best = std::numeric_limits<double>::infinity();
      const Span part = scratch.part(0, static_cast<int64_t>(sizes[i] / size_of(scratch.type)));
      for (auto stage = stages.begin(); stage != stages.end(); ++stage) {
        const double seconds = measure(world, [&] { (*stage)->all_reduce(part); });
        row += str(stage == stages.begin() ? " " : ", ", (*stage)->name(), " ", time_text(seconds));
        if (seconds < best) best = seconds, chosen = stage;
        slowest = std::max(slowest, seconds);
      }
      row += str("; takes ", (*chosen)->name());
      cache.remember(key, word_of(**chosen));
    }
    notes.push_back(row);
    // A choice holds as far as the middle, on a logarithmic scale, between its size and the next.
    choices.push_back({static_cast<size_t>(static_cast<double>(sizes[i]) * std::sqrt(8.0)), *chosen});
  }
  return std::make_shared<SizedStage>(std::move(choices));
}

}  // namespace robusta
