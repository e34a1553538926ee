// -ddl auto: which grid, or single ring, is best here?
#include <algorithm>
#include <cmath>
#include <set>

#include "base/str.h"
#include "comm/dims.h"
#include "comm/rank_file.h"
#include "comm/reduce/builder.h"
#include "comm/reduce/explore.h"
#include "comm/reduce/library.h"

namespace robusta {
namespace {

constexpr size_t kTrials[] = {size_t{64} << 10, size_t{512} << 10, size_t{4} << 20};

/// Values of -mode that are worth trying: rings within and between hosts, hosts cut into racks, one ring, the library.
/// A library's sum has no halves, which `shard` wants.
std::vector<std::string> candidates(const Topology& topology, Shard shard) {
  const std::set<std::string> hosts(topology.hosts.begin(), topology.hosts.end());
  const int ranks = static_cast<int>(topology.hosts.size()), machines = static_cast<int>(hosts.size());
  std::vector<std::string> modes;
  const bool is_even = std::all_of(hosts.begin(), hosts.end(), [&](const std::string& host) {
    return std::count(topology.hosts.begin(), topology.hosts.end(), host) == ranks / machines;
  });
  if (is_even && ranks % machines == 0) {
    const int local = ranks / machines;
    modes.push_back(str("b:", local, "x", machines));
    for (int rack = 2; rack < machines; ++rack) {
      if (machines % rack == 0) modes.push_back(str("b:", local, "x", rack, "x", machines / rack));
    }
  } else {
    modes.push_back(str("b:", ranks));
  }
  modes.push_back(str("r:", ranks));
  if (shard == Shard::kNone) modes.push_back(str("m:", ranks));
  return modes;
}

/// Hosts in the order of their first rank.
std::vector<std::string> host_list(const Topology& topology) {
  std::vector<std::string> hosts;
  for (const std::string& host : topology.hosts) {
    if (std::find(hosts.begin(), hosts.end(), host) == hosts.end()) hosts.push_back(host);
  }
  return hosts;
}

/// Adds the notes of the choice to what it would say anyway.
class Announced : public AllReduce {
 public:
  Announced(std::unique_ptr<AllReduce> chosen, std::vector<std::string> notes)
      : chosen_(std::move(chosen)), notes_(std::move(notes)) {}
  void sum(void* data, int64_t count, DType type, int64_t exact) override { chosen_->sum(data, count, type, exact); }
  bool has_halves() const override { return chosen_->has_halves(); }
  ElementRange own(int64_t count) const override { return chosen_->own(count); }
  void reduce_scatter(void* data, int64_t count, DType type, int64_t exact) override {
    chosen_->reduce_scatter(data, count, type, exact);
  }
  void all_gather(void* data, int64_t count, DType type) override { chosen_->all_gather(data, count, type); }
  void meet() override { chosen_->meet(); }
  std::string describe() const override { return chosen_->describe(); }
  std::vector<DimensionTime> take_times() override { return chosen_->take_times(); }
  std::vector<std::string> notes() const override { return notes_; }

 private:
  std::unique_ptr<AllReduce> chosen_;
  std::vector<std::string> notes_;
};

}  // namespace

std::unique_ptr<AllReduce> ReduceBuilder::by_mode(const DdlOptions& options) {
  if (options.mode == ReduceMode::kLibrary) return make_library_all_reduce(world_);
  if (options.mode == ReduceMode::kRing) return ring();
  return layered(topology_of(topology_.hosts, world_.rank(), options));
}

std::unique_ptr<AllReduce> ReduceBuilder::automatic() {
  ChoiceCache cache(world_, topology_, default_choice_cache());
  std::vector<std::string> notes, modes = candidates(topology_, options_.shard);
  if (const std::string known = cache.find("auto"); std::find(modes.begin(), modes.end(), known) != modes.end()) {
    notes.push_back(str("auto: ", known, " (as before)"));
    modes = {known};
  }
  const Span data = scratch();
  std::vector<std::unique_ptr<AllReduce>> tried;
  std::vector<std::vector<double>> seconds;
  for (const std::string& mode : modes) {
    tried.push_back(by_mode(parse_ddl_options("-mode " + mode)));
    seconds.emplace_back();
    if (modes.size() == 1) break;
    std::string row = str("auto: ", mode, ":");
    for (const size_t bytes : kTrials) {
      const int64_t count = std::min(static_cast<int64_t>(bytes / sizeof(float)), data.count);
      seconds.back().push_back(measure(world_, [&] { tried.back()->sum(data.data, count, data.type); }));
      row += str(" ", size_text(static_cast<size_t>(count) * sizeof(float)), " in ",
                 std::round(seconds.back().back() * 1e7) / 10, " us");
    }
    notes.push_back(row);
  }
  // Every size counts alike: by how much longer than the best of that size.
  size_t best = 0;
  double least = 0;
  for (size_t i = 0; i < modes.size(); ++i) {
    double score = 0;
    for (size_t size = 0; size < seconds[i].size(); ++size) {
      const auto faster = [&](const auto& a, const auto& b) { return a[size] < b[size]; };
      score += seconds[i][size] / (*std::min_element(seconds.begin(), seconds.end(), faster))[size];
    }
    if (i == 0 || score < least) best = i, least = score;
  }
  cache.remember("auto", modes[best]);
  cache.save();
  const DdlOptions chosen = parse_ddl_options("-mode " + modes[best]);
  std::string note = "auto takes -mode " + modes[best];
  if (chosen.mode == ReduceMode::kLayered && chosen.dims.size() > 1) {
    note += ". " + rank_file_note(chosen.dims, host_list(topology_), count_cores());
  }
  notes.push_back(note);
  return std::make_unique<Announced>(std::move(tried[best]), std::move(notes));
}

}  // namespace robusta
