// One mutex and one condition serve the whole group: it has few ranks, and tests want it simple.

#include "comm/threads/group.h"

#include <cassert>
#include <cstring>

namespace robusta {

ThreadGroup::ThreadGroup(std::shared_ptr<Job> job, std::vector<std::string> hosts)
    : job_(std::move(job)), hosts_(std::move(hosts)), board_(hosts_.size()), boxes_(hosts_.size() * hosts_.size()) {}

uint64_t ThreadGroup::arrive() {
  const uint64_t mine = barriers_;
  if (++arrived_ == size()) {
    arrived_ = 0;
    ++barriers_;
    job_->changed.notify_all();
  }
  return mine;
}

void ThreadGroup::barrier() {
  std::unique_lock lock(job_->mutex);
  const uint64_t mine = arrive();
  if (job_->wait(lock, [&] { return barriers_ != mine; })) return;
  // Not counted any more: nobody may pass and read what this rank showed.
  --arrived_;
  job_->throw_failed();
}

void ThreadGroup::last_barrier() {
  std::unique_lock lock(job_->mutex);
  const uint64_t mine = arrive();
  job_->changed.wait(lock, [&] { return barriers_ != mine; });
}

void ThreadGroup::post(Mail& mail, int from, int to) {
  Box& pair = box(from, to);
  mail.state = Mail::kPosted, mail.next = nullptr;
  (pair.last ? pair.last->next : pair.first) = &mail;
  pair.last = &mail;
  job_->changed.notify_all();
}

Mail* ThreadGroup::peek(int from, int to) { return box(from, to).first; }

void ThreadGroup::take(std::unique_lock<std::mutex>& lock, int from, int to, void* data, size_t bytes) {
  Box& pair = box(from, to);
  Mail& mail = *pair.first;
  assert(mail.bytes == bytes && "both sides agree on the sizes");
  pair.first = mail.next;
  if (!pair.first) pair.last = nullptr;
  mail.state = Mail::kCopying;
  lock.unlock();
  if (bytes) std::memcpy(data, mail.data, bytes);
  lock.lock();
  mail.state = Mail::kTaken;
  job_->changed.notify_all();
}

void ThreadGroup::withdraw(std::unique_lock<std::mutex>& lock, Mail& mail, int from, int to) {
  // A copy that has begun needs the sender's memory to its end.
  job_->changed.wait(lock, [&] { return mail.state != Mail::kCopying; });
  if (mail.state != Mail::kPosted) return;
  Box& pair = box(from, to);
  Mail* before = nullptr;
  for (Mail* each = pair.first; each != &mail; each = each->next) before = each;
  (before ? before->next : pair.first) = mail.next;
  if (pair.last == &mail) pair.last = before;
  mail.state = Mail::kNone;
}

}  // namespace robusta
