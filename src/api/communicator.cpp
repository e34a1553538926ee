// The public Communicator: the engine's, and the end of MPI with the one that began it.

#include "api/communicator_impl.h"
#include "comm/thread_ranks.h"
#include "comm/world.h"

namespace robusta::v1 {
namespace {

std::unique_ptr<Communicator::Impl> owner_of(std::unique_ptr<robusta::Communicator> ranks, bool is_world) {
  auto impl = std::make_unique<Communicator::Impl>();
  impl->owned = std::move(ranks);
  impl->ranks = impl->owned.get();
  impl->is_world = is_world;
  return impl;
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
Communicator Communicator::alone() { return Communicator(owner_of(make_self(), false)); }

void Communicator::run_threads(int ranks, const std::function<void(Communicator&)>& body) {
  if (ranks < 1) throw Error(ErrorKind::kUsage, "at least one rank is needed");
  run_thread_ranks(ranks, [&](robusta::Communicator& own) {
    auto impl = std::make_unique<Impl>();
    impl->ranks = &own;
    Communicator communicator(std::move(impl));
    body(communicator);
  });
}

int Communicator::rank() const { return impl_->ranks->rank(); }
int Communicator::size() const { return impl_->ranks->size(); }
std::string Communicator::host() const { return impl_->ranks->host(); }
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
