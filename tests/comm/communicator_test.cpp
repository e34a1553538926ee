// What every communicator promises, for ranks alone, as threads, and as processes (started by mpirun, or as torchrun
// does).
#include "comm/communicator.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "comm/arrivals.h"
#include "comm/thread_ranks.h"
#include "comm/world.h"
#include "robusta/error.h"
#include "support/ranks.h"
#include "support/sanitizers.h"

namespace robusta::test::communicator_test {
namespace {

const size_t kSizes[] = {0, 1, 3, 4096, 100'003};

std::vector<uint8_t> bytes_of(int rank, size_t count) {
  std::vector<uint8_t> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<uint8_t>(i * 7 + static_cast<size_t>(rank) * 31 + 1);
  return bytes;
}

void check_exchange(Communicator& comm) {
  const int next = (comm.rank() + 1) % comm.size(), last = (comm.rank() + comm.size() - 1) % comm.size();
  for (const size_t size : kSizes) {
    std::vector<uint8_t> in(size);
    const std::vector<uint8_t> out = bytes_of(comm.rank(), size);
    comm.exchange(out.data(), size, next, in.data(), size, last);
    EXPECT_EQ(in, bytes_of(last, size)) << size;
  }
  // Unequal sizes: rank r sends r + 1 bytes.
  const auto length = [](int rank) { return static_cast<size_t>(rank) + 1; };
  std::vector<uint8_t> in(length(last));
  const std::vector<uint8_t> out = bytes_of(comm.rank(), length(comm.rank()));
  comm.exchange(out.data(), out.size(), next, in.data(), in.size(), last);
  EXPECT_EQ(in, bytes_of(last, length(last)));
}

void check_one_way(Communicator& comm) {
  const bool first = comm.rank() == 0, second = comm.rank() == 1;
  std::vector<uint8_t> in(5);
  const std::vector<uint8_t> out = bytes_of(0, 5);
  comm.exchange(out.data(), 5, first && comm.size() > 1 ? 1 : -1, in.data(), 5, second ? 0 : -1);
  if (second) {
    EXPECT_EQ(in, out);
  }
}

void check_channel(Communicator& comm, Traffic traffic) {
  if (comm.size() == 1) return;
  const int next = (comm.rank() + 1) % comm.size(), last = (comm.rank() + comm.size() - 1) % comm.size();
  constexpr int kTransfers = 6;
  const auto channel = comm.open_channel(2 * kTransfers, traffic);
  const uint64_t before = arrivals();
  std::vector<std::vector<uint8_t>> out, in;
  for (int i = 0; i < kTransfers; ++i) {
    out.push_back(bytes_of(comm.rank() + i, 1000u * static_cast<unsigned>(i)));
    in.emplace_back(out.back().size());
  }
  for (int i = 0; i < kTransfers; ++i) {
    channel->send(i, out[static_cast<size_t>(i)].data(), out[static_cast<size_t>(i)].size(), next);
  }
  for (int i = 0; i < kTransfers; ++i) {
    channel->receive(kTransfers + i, in[static_cast<size_t>(i)].data(), in[static_cast<size_t>(i)].size(), last);
  }
  for (int slot = 0; slot < 2 * kTransfers; ++slot) channel->wait(slot);
  channel->wait(0);  // nothing is under way any more
  EXPECT_GE(arrivals() - before, uint64_t{kTransfers}) << "signs of life for the watch";
  for (int i = 0; i < kTransfers; ++i) {
    EXPECT_EQ(in[static_cast<size_t>(i)], bytes_of(last + i, 1000u * static_cast<unsigned>(i)));
  }
}

void check_broadcast(Communicator& comm) {
  for (const size_t size : kSizes) {
    for (int root = 0; root < comm.size(); ++root) {
      std::vector<uint8_t> data = bytes_of(comm.rank(), size);
      comm.broadcast(data.data(), size, root);
      EXPECT_EQ(data, bytes_of(root, size));
    }
  }
}

void check_all_gather(Communicator& comm) {
  for (const size_t size : kSizes) {
    std::vector<uint8_t> all(size * static_cast<size_t>(comm.size()));
    comm.all_gather(bytes_of(comm.rank(), size).data(), size, all.data());
    for (int rank = 0; rank < comm.size(); ++rank) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(size) * rank;
      EXPECT_EQ(std::vector<uint8_t>(begin, begin + static_cast<std::ptrdiff_t>(size)), bytes_of(rank, size));
    }
  }
}

template <typename T>
void check_library_sum(Communicator& comm) {
  for (const size_t size : {0u, 1u, 7u, 10'001u}) {
    std::vector<T> data(size);
    for (size_t i = 0; i < size; ++i) data[i] = static_cast<T>(i + static_cast<size_t>(comm.rank()));
    comm.all_reduce(data.data(), static_cast<int64_t>(size), dtype_of<T>());
    const auto n = static_cast<size_t>(comm.size());
    for (size_t i = 0; i < size; ++i) ASSERT_EQ(data[i], static_cast<T>(n * i + n * (n - 1) / 2)) << i;
  }
}

void check_split(Communicator& comm) {
  // Odd and even ranks, each in falling order.
  const auto half = comm.split(comm.rank() % 2, -comm.rank());
  const int members = (comm.size() + 1 - comm.rank() % 2) / 2;
  EXPECT_EQ(half->size(), members);
  EXPECT_EQ(half->rank(), members - 1 - comm.rank() / 2);
  std::vector<int> ranks(static_cast<size_t>(members));
  const int mine = comm.rank();
  half->all_gather(&mine, sizeof mine, ranks.data());
  for (int i = 0; i < members; ++i) EXPECT_EQ(ranks[static_cast<size_t>(i)], comm.rank() % 2 + 2 * (members - 1 - i));
  EXPECT_EQ(half->host(), comm.host());
  const auto twin = half->duplicate();
  EXPECT_EQ(twin->rank(), half->rank());
  twin->barrier();
}

void check_shared_memory(Communicator& comm) {
  constexpr size_t kInts = 5000;
  const auto memory = comm.allocate(kInts * sizeof(int));
  ASSERT_EQ(memory->bytes(), kInts * sizeof(int));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory->data()) % 4096, 0u);
  EXPECT_EQ(memory->peer(comm.rank()), memory->data());
  int* mine = static_cast<int*>(memory->data());
  EXPECT_EQ(std::accumulate(mine, mine + kInts, 0), 0);
  comm.barrier();
  std::fill(mine, mine + kInts, comm.rank() + 1);
  comm.barrier();
  int seen = 0;
  for (int rank = 0; rank < comm.size(); ++rank) {
    const int* theirs = static_cast<const int*>(memory->peer(rank));
    if (!theirs) continue;
    ++seen;
    EXPECT_EQ(theirs[0], rank + 1);
    EXPECT_EQ(theirs[kInts - 1], rank + 1);
  }
  EXPECT_GE(seen, 1);
  comm.barrier();
}

void check_all(Communicator& comm) {
  check_exchange(comm);
  check_one_way(comm);
  check_channel(comm, Traffic::kShort);
  check_channel(comm, Traffic::kBulk);
  check_broadcast(comm);
  check_all_gather(comm);
  check_library_sum<float>(comm);
  check_library_sum<double>(comm);
  check_split(comm);
  check_shared_memory(comm);
}

}  // namespace

TEST(CommunicatorTest, Self) {
  const auto self = make_self();
  EXPECT_EQ(self->kind(), "self");
  EXPECT_FALSE(self->host().empty());
  check_all(*self);
}

TEST(CommunicatorTest, Threads) {
  for (int ranks = 1; ranks <= 8; ++ranks) run_thread_ranks(ranks, check_all);
}

TEST(CommunicatorTest, ThreadsThatBelieveInHosts) {
  run_thread_ranks(
      5,
      [](Communicator& comm) {
        EXPECT_EQ(comm.host(), comm.rank() < 3 ? "host0" : "host1");
        const auto memory = comm.allocate(10);
        for (int rank = 0; rank < 5; ++rank) EXPECT_EQ(memory->peer(rank) != nullptr, (rank < 3) == (comm.rank() < 3));
        check_all(comm);
      },
      2);
}

TEST(WorldTest, Communicator) { check_all(world()); }

TEST(WorldTest, HasTheRanksThatWereStarted) {
  const char* open_mpi = std::getenv("OMPI_COMM_WORLD_SIZE");
  const char* others = std::getenv("PMI_SIZE");
  const char* of_mpi = open_mpi ? open_mpi : others;
  const char* announced = of_mpi ? of_mpi : std::getenv("WORLD_SIZE");
  EXPECT_EQ(world().size(), announced ? std::atoi(announced) : 1);
  EXPECT_EQ(world().kind(), of_mpi ? "mpi" : announced ? "sockets" : "self");
}

// The sanitizers themselves take terabytes of address space.
#if !ROBUSTA_ADDRESS_SANITIZER && !ROBUSTA_THREAD_SANITIZER
/// Each thread takes 1 GiB of address space for its stack, of which there are 6: ranks that wait already are let go.
TEST(ThreadRanksTest, AThreadThatCannotStartIsAnError) {
  const auto try_it = [] {
    const rlimit limit{6ull << 30, 6ull << 30};
    pthread_attr_t large_stack;
    pthread_attr_init(&large_stack);
    pthread_attr_setstacksize(&large_stack, 1 << 30);
    if (::setrlimit(RLIMIT_AS, &limit) != 0 || pthread_setattr_default_np(&large_stack) != 0) std::_Exit(1);
    try {
      run_thread_ranks(64, [](Communicator& comm) { comm.barrier(); });
    } catch (const Error& error) {
      std::_Exit(error.kind() == ErrorKind::kCommunication && error.cause().starts_with("only ") ? 0 : 2);
    }
    std::_Exit(3);
  };
  EXPECT_EXIT(try_it(), testing::ExitedWithCode(0), "");
}
#endif

// The first error comes out, and nobody is left waiting: in a barrier, for a message, in a group without the failed
// rank.
TEST(ThreadRanksTest, FailureEndsThePeers) {
  const std::function<void(Communicator&)> waits[] = {
      [](Communicator& comm) { comm.barrier(); },
      [](Communicator& comm) {
        int in = 0;
        comm.exchange(nullptr, 0, -1, &in, sizeof in, 1);
      },
      [](Communicator& comm) {
        const std::vector<int> out(1000);
        comm.exchange(out.data(), 4000, 1, nullptr, 0, -1);
      },
  };
  for (const auto& wait : waits) {
    std::atomic<int> ended = 0;
    const auto body = [&](Communicator& comm) {
      const auto others = comm.split(comm.rank() == 1, 0);
      if (comm.rank() == 1) throw Error(ErrorKind::kData, "the disk is gone");
      try {
        comm.rank() == 3 ? others->barrier() : wait(comm);
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kCommunication);
        EXPECT_EQ(error.cause(), "rank 1 has failed");
        EXPECT_THROW(comm.check_peers(), Error);
        ++ended;
        throw;
      }
    };
    try {
      run_thread_ranks(4, body);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kData);
    }
    EXPECT_EQ(ended, 3);
  }
}

}  // namespace robusta::test::communicator_test
