// The thread owns, together with the courier, all that it touches. A stage stands still for what it brings, so it looks
// for it as often as for a short message.
#include "solver/pipeline/ranks/courier.h"

#include <algorithm>
#include <cassert>
#include <condition_variable>
#include <cstddef>
#include <mutex>

#include "base/thread_name.h"

namespace robusta {

struct Courier::Work {
  explicit Work(Freight all) : freight(std::move(all)), channel(freight.road->open_channel(1, Traffic::kShort)) {}

  Freight freight;
  std::unique_ptr<Channel> channel;
  std::mutex mutex;
  std::condition_variable changed;
  int64_t asked = 0, done = 0;  ///< micro-batches, all so far; guarded by mutex, as all below
  double bytes = 0;
  bool closing = false, broken = false;
  std::exception_ptr error;

  void run();

 private:
  bool carry_one();
  void carry(StageChannel& blob);
  void transfer(std::byte* data, size_t bytes);
};

/// Messages are not longer than a channel takes.
void Courier::Work::transfer(std::byte* data, size_t bytes) {
  for (size_t at = 0; at < bytes; at += Channel::kLargest) {
    const size_t piece = std::min(bytes - at, Channel::kLargest);
    freight.out ? channel->send(0, data + at, piece, freight.peer)
                : channel->receive(0, data + at, piece, freight.peer);
    channel->wait(0);
  }
}

void Courier::Work::carry(StageChannel& blob) {
  const size_t size = blob.desc().bytes();
  if (freight.out) {
    transfer(static_cast<std::byte*>(const_cast<void*>(blob.next_to_empty())), size);
    blob.emptied();
  } else {
    transfer(static_cast<std::byte*>(blob.next_to_fill()), size);
    blob.filled();
  }
  const std::lock_guard lock(mutex);
  bytes += static_cast<double>(size);
}

/// Returns false where the pipeline has broken.
bool Courier::Work::carry_one() {
  try {
    for (const std::shared_ptr<StageChannel>& blob : freight.blobs) carry(*blob);
    return true;
  } catch (const PipelineBroken&) {
  } catch (...) {
    {
      const std::lock_guard lock(mutex);
      error = std::current_exception();
    }
    freight.signal->break_off();
  }
  return false;
}

void Courier::Work::run() {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [this] { return closing || done < asked; });
    if (done == asked) return;
    lock.unlock();
    const bool carried = carry_one();
    lock.lock();
    broken = broken || !carried;
    done = carried ? done + 1 : asked;
    changed.notify_all();
  }
}

Courier::Courier(Freight freight)
    : work_(std::make_shared<Work>(std::move(freight))), thread_([work = work_] {
        name_this_thread("courier");
        work->run();
      }) {}

Courier::~Courier() {
  bool idle = false;
  {
    const std::lock_guard lock(work_->mutex);
    work_->closing = true;
    idle = work_->done == work_->asked;
  }
  work_->changed.notify_all();
  idle ? thread_.join() : thread_.detach();
}

void Courier::start(int micro_batches) {
  {
    const std::lock_guard lock(work_->mutex);
    assert(work_->done == work_->asked);
    work_->broken = false;
    work_->asked += micro_batches;
  }
  work_->changed.notify_all();
}

void Courier::wait() {
  std::unique_lock lock(work_->mutex);
  work_->changed.wait(lock, [this] { return work_->done == work_->asked; });
  if (work_->error) std::rethrow_exception(work_->error);
  if (work_->broken) throw PipelineBroken();
}

std::exception_ptr Courier::error() const {
  const std::lock_guard lock(work_->mutex);
  return work_->error;
}

double Courier::bytes() const {
  const std::lock_guard lock(work_->mutex);
  return work_->bytes;
}

bool Courier::out() const { return work_->freight.out; }

}  // namespace robusta
