/// Ranks that work on one training, and how they talk.
///
/// Four kinds: `self` (one rank), `threads` (ranks are threads of this process), and two whose ranks are processes,
/// `mpi` and `sockets`. All calls are collective over the communicator's ranks, in the same order on each, except
/// `exchange`, which pairs with the peers it names. A communicator is driven by one thread at a time; ranks that must
/// talk from two threads duplicate it. Calls block; when a peer has gone they block for ever under MPI, whose calls
/// cannot be left: the liveness watch ends the process then. Destructors never communicate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tensor/dtype.h"

namespace robusta {

/// Memory of one size on every rank, of which ranks of one host see each other's.
class SharedMemory {
 public:
  virtual ~SharedMemory() = default;
  virtual size_t bytes() const = 0;
  /// This rank's part, aligned to a page.
  virtual void* data() const = 0;
  /// The part of another rank of the communicator that allocated it; null when it lies on another host.
  virtual void* peer(int rank) const = 0;
};

/// Transfers that go on while their owner computes. Each lies in a numbered slot from its start until wait(slot).
/// Transfers between two ranks keep their order; those of all channels of a communicator share it with exchange(),
/// which therefore is not called while any is under way. The memory of a transfer is left alone until it has been
/// waited for.
class Channel {
 public:
  virtual ~Channel() = default;
  /// REQUIRES: nothing is under way in the slot; bytes <= kLargest.
  virtual void send(int slot, const void* data, size_t bytes, int to) = 0;
  virtual void receive(int slot, void* data, size_t bytes, int from) = 0;
  /// Returns when the slot's transfer is done, at once when there is none.
  virtual void wait(int slot) = 0;

  static constexpr size_t kLargest = size_t{1} << 30;  ///< bytes of a message: MPI counts in int
};

/// What a channel carries. Somebody is about to answer a short message, and waiting spins a little before it leaves the
/// core to those who compute; for bulk data it leaves it at once.
enum class Traffic { kShort, kBulk };

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// "self", "threads", "mpi" or "sockets".
  virtual std::string kind() const = 0;
  /// The name of the host this rank runs on.
  virtual std::string host() const = 0;

  /// Sends `out` to rank `to` and receives `in` from rank `from`, at once; returns when both are done. A peer of -1
  /// leaves that half out. Both sides agree on the sizes.
  virtual void exchange(const void* out, size_t out_bytes, int to, void* in, size_t in_bytes, int from) = 0;

  /// Transfers in `slots` slots; not collective.
  virtual std::unique_ptr<Channel> open_channel(int slots, Traffic traffic) = 0;

  virtual void barrier() = 0;
  virtual void broadcast(void* data, size_t bytes, int root) = 0;
  /// `all` receives size() x bytes, in the order of ranks.
  virtual void all_gather(const void* mine, size_t bytes, void* all) = 0;
  /// The values of all ranks, in their order.
  template <typename T>
  std::vector<T> gather(const T& mine) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> all(static_cast<size_t>(size()));
    all_gather(&mine, sizeof mine, all.data());
    return all;
  }
  /// Sums `count` elements over the ranks in place, by the library's own algorithm.
  virtual void all_reduce(void* data, int64_t count, DType type) = 0;
  /// True when that takes the memory of devices with such kernels (Device::kernel_kind()), too: all but "cuda" work in
  /// memory of the host.
  virtual bool sums_memory_of(std::string_view kernel_kind) const { return kernel_kind != "cuda"; }

  /// Ranks of equal colour form a new communicator, ordered by key, then by rank.
  virtual std::unique_ptr<Communicator> split(int colour, int key) = 0;
  std::unique_ptr<Communicator> duplicate() { return split(0, rank()); }

  /// Memory of `bytes` (the same on every rank), zero at first. Throws Error{kMemory}.
  virtual std::shared_ptr<SharedMemory> allocate(size_t bytes) = 0;

  /// For loops that wait on shared memory: throws Error{kCommunication} when a peer is known to have failed.
  virtual void check_peers() {}

  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

 protected:
  Communicator() = default;
};

}  // namespace robusta
