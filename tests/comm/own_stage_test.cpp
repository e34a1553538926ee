// The worked example of CONTRIBUTING: a stage of a sum over ranks. Every piece goes straight to its owner, one partner
// at a time (pairwise exchange: Thakur, Rabenseifner and Gropp 2005, "Optimization of Collective Communication
// Operations in MPICH").

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <stdexcept>

#include "base/str.h"
#include "comm/reduce/arithmetic.h"
#include "comm/reduce/layered.h"
#include "comm/thread_ranks.h"
#include "comm/topology.h"
#include "support/ranks.h"

namespace robusta {
namespace {

class PairwiseStage : public Stage {
 public:
  PairwiseStage(Communicator& world, Group group) : world_(world), group_(std::move(group)) {}
  std::string name() const override { return "pairwise"; }

  void reduce_scatter(const Span& span) override {
    const Span mine = piece(span, 0);
    if (incoming_.size() < mine.bytes()) incoming_.resize(mine.bytes());  // in the first sums alone
    for (int k = 1; k < group_.size(); ++k) {
      const Span theirs = piece(span, k);
      world_.exchange(theirs.data, theirs.bytes(), group_.neighbour(k),  //
                      incoming_.data(), mine.bytes(), group_.neighbour(-k));
      add(mine, incoming_.data());
    }
  }

  void all_gather(const Span& span) override {
    const Span mine = piece(span, 0);
    for (int k = 1; k < group_.size(); ++k) {
      const Span theirs = piece(span, -k);
      world_.exchange(mine.data, mine.bytes(), group_.neighbour(k),  //
                      theirs.data, theirs.bytes(), group_.neighbour(-k));
    }
  }

 private:
  /// That of the member `distance` places further on.
  Span piece(const Span& span, int distance) const {
    const int members = group_.size();
    return span.piece((group_.position + distance + members) % members, members);
  }

  Communicator& world_;
  Group group_;
  std::vector<std::byte> incoming_;
};

}  // namespace

namespace test {
namespace {

/// Each dimension of a grid by the stage.
LayeredAllReduce over_grid(Communicator& comm, const std::string& grid) {
  std::vector<ReduceLayer> layers;
  for (const Dimension& dimension : find_topology(comm, parse_ddl_options("-mode b:" + grid)).dimensions) {
    const Group group{dimension.ranks, dimension.position};
    layers.push_back({dimension.name, group.size(), group.position, std::make_shared<PairwiseStage>(comm, group)});
  }
  return LayeredAllReduce(std::move(layers), grid, nullptr, {});
}

/// A rank that merely stopped would leave its peers waiting.
[[noreturn]] void fail(const std::string& what) { throw std::logic_error(what); }

/// Whole numbers, of which every order of summing gives the same.
void check_sums(Communicator& comm, AllReduce& all_reduce) {
  for (const int64_t count : {0, 1, 15, 17, 100, 4096, 20'011}) {
    std::vector<double> data(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) data[static_cast<size_t>(i)] = static_cast<double>(i * (comm.rank() + 1));
    all_reduce.sum(data.data(), count, DType::kF64);
    for (int64_t i = 0; i < count; ++i) {
      const double expected = static_cast<double>(i * comm.size() * (comm.size() + 1) / 2);
      if (data[static_cast<size_t>(i)] != expected) fail(str("element ", i, " of ", count, " of ", comm.size()));
    }
  }
}

/// Fractions, whose sum depends on the order in its last bits.
void check_bits(Communicator& comm, AllReduce& all_reduce) {
  constexpr size_t kCount = 5'011, kBytes = kCount * sizeof(float);
  std::vector<float> data(kCount), all(kCount * static_cast<size_t>(comm.size()));
  for (size_t i = 0; i < kCount; ++i) data[i] = std::sin(static_cast<float>(i * 31 + static_cast<size_t>(comm.rank())));
  all_reduce.sum(data.data(), kCount, DType::kF32);
  comm.all_gather(data.data(), kBytes, all.data());
  for (int rank = 0; rank < comm.size(); ++rank) {
    const float* const theirs = all.data() + kCount * static_cast<size_t>(rank);
    if (std::memcmp(theirs, data.data(), kBytes) != 0) fail(str("rank ", rank, " has other bits"));
  }
}

void check_stage(Communicator& comm) {
  std::vector<std::string> grids{str(comm.size())};
  if (comm.size() > 2 && comm.size() % 2 == 0) grids.push_back(str("2x", comm.size() / 2));
  for (const std::string& grid : grids) {
    LayeredAllReduce all_reduce = over_grid(comm, grid);
    check_sums(comm, all_reduce);
    check_bits(comm, all_reduce);
  }
}

}  // namespace

TEST(OwnStageTest, Threads) {
  for (const int ranks : {1, 2, 3, 4, 6}) run_thread_ranks(ranks, check_stage);
}
TEST(OwnStageTest, ThreadsOnSeveralHosts) { run_thread_ranks(6, check_stage, 3); }
TEST(OwnStageTest, World) { check_stage(world()); }

}  // namespace test
}  // namespace robusta
