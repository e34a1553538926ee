// Only exchange() and the channels send messages; what is collective is made of exchanges (collectives.h).

#include "comm/sockets/socket_communicator.h"

#include <algorithm>
#include <tuple>

#include "base/str.h"
#include "comm/sockets/collectives.h"
#include "comm/sockets/shared_pages.h"
#include "robusta/error.h"

namespace robusta::sockets {
namespace {

struct Membership {
  int colour = 0, key = 0, rank = 0;
  bool operator<(const Membership& other) const { return std::tie(key, rank) < std::tie(other.key, other.rank); }
};

/// Mixes the bits of a number into all others (the finaliser of SplitMix64, Steele, Lea and Flood 2014).
uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// Of a part of a communicator: what all of its ranks know gives one of 2^64 numbers, never that of the job's end.
Conversation conversation_of(Conversation whole, uint64_t split, int colour) {
  return mixed(mixed(whole + mixed(split)) + static_cast<uint32_t>(colour)) | 1;
}

class SocketMemory : public SharedMemory {
 public:
  SocketMemory(size_t bytes, int rank, std::vector<std::unique_ptr<SharedPages>> parts)
      : bytes_(bytes), rank_(rank), parts_(std::move(parts)) {}
  size_t bytes() const override { return bytes_; }
  void* data() const override { return peer(rank_); }
  void* peer(int rank) const override {
    const auto& part = parts_[static_cast<size_t>(rank)];
    return part ? part->data() : nullptr;
  }

 private:
  size_t bytes_;
  int rank_;
  std::vector<std::unique_ptr<SharedPages>> parts_;  ///< by rank; null: of another host
};

}  // namespace

SocketCommunicator::SocketCommunicator(Circle circle)
    : circle_(std::make_shared<const Circle>(std::move(circle))), exchanges_(circle_, 2) {}

std::string SocketCommunicator::host() const { return circle_->office->member(circle_->office->rank()).host; }

void SocketCommunicator::exchange(const void* out, size_t out_bytes, int to, void* in, size_t in_bytes, int from) {
  if (from >= 0) exchanges_.receive(1, in, in_bytes, from);
  if (to >= 0) exchanges_.send(0, out, out_bytes, to);
  exchanges_.wait(0);
  exchanges_.wait(1);
}

std::unique_ptr<Channel> SocketCommunicator::open_channel(int slots, Traffic) {
  return std::make_unique<SocketChannel>(circle_, slots);
}

void SocketCommunicator::barrier() { exchange_barrier(*this); }

void SocketCommunicator::broadcast(void* data, size_t bytes, int root) { exchange_broadcast(*this, data, bytes, root); }

void SocketCommunicator::all_gather(const void* mine, size_t bytes, void* all) {
  exchange_all_gather(*this, mine, bytes, all);
}

void SocketCommunicator::all_reduce(void* data, int64_t count, DType type) {
  exchange_all_reduce(*this, data, count, type);
}

std::unique_ptr<Communicator> SocketCommunicator::split(int colour, int key) {
  const std::vector<Membership> all = gather(Membership{colour, key, rank()});
  std::vector<Membership> members;
  std::copy_if(all.begin(), all.end(), std::back_inserter(members), [&](auto& each) { return each.colour == colour; });
  std::sort(members.begin(), members.end());
  Circle part;
  part.office = circle_->office;
  part.conversation = conversation_of(circle_->conversation, splits_++, colour);
  for (const Membership& member : members) {
    if (member.rank == rank()) part.rank = static_cast<int>(part.ranks.size());
    part.ranks.push_back(circle_->ranks[static_cast<size_t>(member.rank)]);
  }
  return std::make_unique<SocketCommunicator>(std::move(part));
}

std::shared_ptr<SharedMemory> SocketCommunicator::allocate(size_t bytes) {
  std::unique_ptr<SharedPages> mine = SharedPages::make(bytes);
  const std::vector<PagesKey> keys = gather(mine ? mine->key() : PagesKey{});
  const PostOffice& office = *circle_->office;
  std::vector<std::unique_ptr<SharedPages>> parts(keys.size());
  char complete = 1;
  for (int peer = 0; peer < size(); ++peer) {
    const auto at = static_cast<size_t>(peer);
    if (peer == rank() || host() != office.member(circle_->ranks[at]).host) continue;
    parts[at] = SharedPages::of(keys[at], bytes);
    if (!parts[at]) complete = 0;
  }
  if (!mine) complete = 0;
  const std::vector<char> all = gather(complete);  // and all have opened what they need
  const auto failed = std::find(all.begin(), all.end(), 0);
  if (failed != all.end()) {
    throw Error(ErrorKind::kMemory,
                str("the host of rank ", failed - all.begin(), " has no memory that its ranks share: ", bytes,
                    " bytes for each of them"),
                "use fewer ranks per host, of one user, and in containers that see each other's processes or have host "
                "names of their own");
  }
  mine->close_door();
  parts[static_cast<size_t>(rank())] = std::move(mine);
  return std::make_shared<SocketMemory>(bytes, rank(), std::move(parts));
}

}  // namespace robusta::sockets
