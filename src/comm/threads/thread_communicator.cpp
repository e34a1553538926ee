// Collectives are made of the group's board and barrier.

#include "comm/threads/thread_communicator.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <iterator>
#include <tuple>

#include "comm/page_block.h"
#include "robusta/error.h"

namespace robusta {
namespace {

/// All ranks' parts in one block, which lives as long as any rank needs it.
class ThreadMemory : public SharedMemory {
 public:
  ThreadMemory(size_t bytes, std::shared_ptr<std::byte> block, std::vector<std::string> hosts, int rank)
      : bytes_(bytes), block_(std::move(block)), hosts_(std::move(hosts)), rank_(rank) {}
  size_t bytes() const override { return bytes_; }
  void* data() const override { return part(rank_); }
  void* peer(int rank) const override {
    const auto host = [&](int of) { return hosts_[static_cast<size_t>(of)]; };
    return host(rank) == host(rank_) ? part(rank) : nullptr;
  }

 private:
  void* part(int rank) const { return block_.get() + static_cast<size_t>(rank) * whole_pages(bytes_); }

  size_t bytes_;
  std::shared_ptr<std::byte> block_;
  std::vector<std::string> hosts_;
  int rank_;
};

struct Membership {
  int colour = 0, key = 0, rank = 0;
  bool operator<(const Membership& other) const { return std::tie(key, rank) < std::tie(other.key, other.rank); }
};

}  // namespace

ThreadCommunicator::ThreadCommunicator(std::shared_ptr<ThreadGroup> group, int rank)
    : group_(std::move(group)), rank_(rank), exchanges_(group_, rank, 2) {}

template <typename Read>
void ThreadCommunicator::between_barriers(const void* mine, const Read& read) {
  group_->board(rank_) = mine;
  group_->barrier();
  read();
  group_->last_barrier();
}

void ThreadCommunicator::exchange(const void* out, size_t out_bytes, int to, void* in, size_t in_bytes, int from) {
  if (to >= 0) exchanges_.send(0, out, out_bytes, to);
  if (from >= 0) exchanges_.receive(1, in, in_bytes, from);
  exchanges_.wait(0);
  exchanges_.wait(1);
}

std::unique_ptr<Channel> ThreadCommunicator::open_channel(int slots, Traffic) {
  return std::make_unique<ThreadChannel>(group_, rank_, slots);
}

void ThreadCommunicator::broadcast(void* data, size_t bytes, int root) {
  between_barriers(data, [&] {
    if (rank_ != root && bytes) std::memcpy(data, group_->board(root), bytes);
  });
}

void ThreadCommunicator::all_gather(const void* mine, size_t bytes, void* all) {
  between_barriers(mine, [&] {
    for (int rank = 0; rank < size() && bytes; ++rank) {
      std::memcpy(static_cast<std::byte*>(all) + static_cast<size_t>(rank) * bytes, group_->board(rank), bytes);
    }
  });
}

void ThreadCommunicator::all_reduce(void* data, int64_t count, DType type) {
  dispatch(type, [&](auto t) {
    using T = decltype(t);
    // Each rank sums its own part of the elements, in the order of ranks, and hands it to all.
    between_barriers(data, [&] {
      const auto of = [&](int rank) { return static_cast<T*>(const_cast<void*>(group_->board(rank))); };
      for (int64_t i = count * rank_ / size(); i < count * (rank_ + 1) / size(); ++i) {
        T sum = of(0)[i];
        for (int rank = 1; rank < size(); ++rank) sum += of(rank)[i];
        for (int rank = 0; rank < size(); ++rank) of(rank)[i] = sum;
      }
    });
  });
}

std::unique_ptr<Communicator> ThreadCommunicator::split(int colour, int key) {
  const Membership mine{colour, key, rank_};
  const std::vector<Membership> all = gather(mine);
  std::vector<Membership> group;
  std::copy_if(all.begin(), all.end(), std::back_inserter(group), [&](auto& each) { return each.colour == colour; });
  std::sort(group.begin(), group.end());
  std::vector<std::string> hosts;
  int position = 0;
  for (const Membership& member : group) {
    if (member.rank == rank_) position = static_cast<int>(hosts.size());
    hosts.push_back(group_->hosts()[static_cast<size_t>(member.rank)]);
  }
  // The first rank of each group makes what its members share.
  std::shared_ptr<ThreadGroup> shared;
  if (position == 0) shared = std::make_shared<ThreadGroup>(group_->shared_job(), std::move(hosts));
  const auto first = group.front().rank;
  std::shared_ptr<ThreadGroup> found;
  between_barriers(&shared, [&] { found = *static_cast<const std::shared_ptr<ThreadGroup>*>(group_->board(first)); });
  return std::make_unique<ThreadCommunicator>(std::move(found), position);
}

std::shared_ptr<SharedMemory> ThreadCommunicator::allocate(size_t bytes) {
  std::shared_ptr<std::byte> block, found;
  std::exception_ptr error;
  try {
    if (rank_ == 0) block = allocate_pages(whole_pages(bytes) * static_cast<size_t>(size()));
  } catch (...) {
    error = std::current_exception();
  }
  between_barriers(&block, [&] { found = *static_cast<const std::shared_ptr<std::byte>*>(group_->board(0)); });
  if (error) std::rethrow_exception(error);
  if (!found) throw Error(ErrorKind::kMemory, "the first thread found no memory for all");
  return std::make_shared<ThreadMemory>(bytes, std::move(found), group_->hosts(), rank_);
}

}  // namespace robusta
