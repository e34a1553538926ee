// The public Communicator: the engine's, and the end of MPI with the one that began it.

#include "api/communicator_impl.h"
#include "base/str.h"
#include "comm/sockets/meeting.h"
#include "comm/thread_ranks.h"
#include "comm/topology.h"
#include "comm/world.h"

namespace robusta::v1 {
namespace {

constexpr size_t kShortestSecret = 16;

/// Collective: the ranks tell each other their hosts.
std::unique_ptr<Communicator::Impl> impl_of(robusta::Communicator& ranks) {
  auto impl = std::make_unique<Communicator::Impl>();
  impl->ranks = &ranks;
  const Topology topology = find_topology(ranks, {});
  impl->local_rank = topology.local_rank;
  impl->local_size = topology.local_ranks;
  return impl;
}

std::unique_ptr<Communicator::Impl> owner_of(std::unique_ptr<robusta::Communicator> ranks, bool is_world) {
  auto impl = impl_of(*ranks);
  impl->owned = std::move(ranks);
  impl->is_world = is_world;
  return impl;
}

void check(const Meeting& meeting) {
  if (meeting.rank < 0 || meeting.rank >= meeting.ranks) {
    throw Error(ErrorKind::kUsage, str("rank ", meeting.rank, " of ", meeting.ranks, " ranks"),
                "ranks count from 0 to their number less one");
  }
  if (meeting.host.empty() || meeting.port == 0) {
    throw Error(ErrorKind::kUsage, "nothing says where the ranks meet", "give host and port, where rank 0 listens");
  }
  if (meeting.secret.size() < kShortestSecret) {
    throw Error(ErrorKind::kUsage, str("the secret of the ranks is shorter than ", kShortestSecret, " characters"),
                "give all ranks one that nobody can guess");
  }
  if (!(meeting.seconds > 0)) throw Error(ErrorKind::kUsage, "ranks cannot meet in no time", "give seconds above 0");
}

}  // namespace

Communicator::Communicator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&&) noexcept = default;

Communicator::~Communicator() {
  if (!impl_ || !impl_->is_world) return;
  impl_->owned.reset();
  leave_world();
}

Communicator Communicator::world() { return Communicator(owner_of(join_world(), true)); }

Communicator Communicator::meet(const Meeting& meeting) {
  check(meeting);
  return Communicator(owner_of(join_world(sockets::Meeting{.rank = meeting.rank,
                                                           .ranks = meeting.ranks,
                                                           .host = meeting.host,
                                                           .port = meeting.port,
                                                           .secret = meeting.secret,
                                                           .seconds = meeting.seconds}),
                               true));
}

Communicator Communicator::alone() { return Communicator(owner_of(make_self(), false)); }

void Communicator::run_threads(int ranks, const std::function<void(Communicator&)>& body) {
  if (ranks < 1) throw Error(ErrorKind::kUsage, "at least one rank is needed");
  run_thread_ranks(ranks, [&](robusta::Communicator& own) {
    Communicator communicator(impl_of(own));
    body(communicator);
  });
}

int Communicator::rank() const { return impl_->ranks->rank(); }
int Communicator::size() const { return impl_->ranks->size(); }
std::string Communicator::host() const { return impl_->ranks->host(); }
int Communicator::local_rank() const { return impl_->local_rank; }
int Communicator::local_size() const { return impl_->local_size; }
void Communicator::barrier() { impl_->ranks->barrier(); }

void Communicator::broadcast(void* data, size_t bytes, int root) {
  if (root < 0 || root >= size()) throw Error(ErrorKind::kUsage, "there is no such rank to broadcast from");
  impl_->ranks->broadcast(data, bytes, root);
}

void Communicator::all_reduce(std::span<float> numbers) {
  impl_->ranks->all_reduce(numbers.data(), static_cast<int64_t>(numbers.size()), robusta::DType::kF32);
}

void Communicator::all_reduce(std::span<double> numbers) {
  impl_->ranks->all_reduce(numbers.data(), static_cast<int64_t>(numbers.size()), robusta::DType::kF64);
}

}  // namespace robusta::v1
