// The lock is held to look something up, and not while bytes move: a parcel that is under way is the thread's alone, as
// its owner has promised to leave it where it is.

#include "comm/sockets/post_office.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/str.h"
#include "comm/arrivals.h"
#include "comm/end_of_generation.h"

namespace robusta::sockets {
namespace {

constexpr size_t kStrangers = 64;  // callers at a time that have not greeted
constexpr auto kGreetedWithin = std::chrono::seconds(10);
/// The watch over the ranks sees an end of a process within a second, and its report is better than what is known here.
constexpr auto kWatchSpeaks = std::chrono::seconds(20);
/// The same for ranks that go on: who only sees a connection end waits for the watch to say why, and not for long.
constexpr auto kWatchSpeaksOfGeneration = std::chrono::milliseconds(1500);
constexpr auto kLook = std::chrono::milliseconds(500);
constexpr auto kToldWithin = std::chrono::seconds(1);
constexpr int kMessagesAtOnce = 64;                 // of one line before the others have their turn
constexpr uint64_t kMostBytes = uint64_t{1} << 40;  // nobody has a message as long

bool is_stranger(const IncomingLine& line) { return line.from() < 0; }

}  // namespace

PostOffice::PostOffice(Company company, Loss loss)
    : company_(std::move(company)), loss_(loss), bell_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (!bell_.is_open()) {
    throw Error(ErrorKind::kCommunication, str("no descriptor is left for the ranks' messages: ", strerror(errno)),
                "raise the limit of open files (ulimit -n)");
  }
  thread_ = std::thread([this] { serve(); });
}

PostOffice::~PostOffice() { halt(); }

/// Afterwards nobody touches parcels.
void PostOffice::halt() {
  stops_ = true;
  wake();
  {
    const std::lock_guard joining(joining_);
    if (thread_.joinable()) thread_.join();
  }
  const std::lock_guard lock(mutex_);
  halted_ = true;
  changed_.notify_all();
}

void PostOffice::wake() const {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(bell_.get(), &one, sizeof one);
}

OutgoingLine& PostOffice::line_to(int rank) {
  const auto found = outgoing_.find(rank);
  if (found != outgoing_.end()) return found->second;
  const Greeting greeting{.from = this->rank(), .to = rank, .token = company_.token};
  OutgoingLine& line = outgoing_.try_emplace(rank, greeting, member(rank)).first->second;
  if (line.is_broken()) gone_.try_emplace(rank, Clock::now());
  return line;
}

void PostOffice::send(Parcel& parcel) {
  parcel.under_way = true;
  parcel.done = false;
  if (parcel.peer == rank()) return deliver_here(parcel);
  {
    const std::lock_guard lock(mutex_);
    line_to(parcel.peer).queue(parcel);
  }
  wake();
}

void PostOffice::deliver_here(Parcel& parcel) {
  const std::lock_guard lock(mutex_);
  const Mailboxes::Target target = mail_.begin(parcel.conversation, rank(), parcel.bytes);
  if (parcel.bytes > 0)
    std::memcpy(target.parcel ? target.parcel->data : target.letter->data.get(), parcel.data, parcel.bytes);
  if (target.parcel) target.parcel->done = true;
  if (target.letter) target.letter->whole = true;
  parcel.done = true;
  changed_.notify_all();
}

void PostOffice::receive(Parcel& parcel) {
  parcel.under_way = true;
  parcel.done = false;
  std::unique_lock lock(mutex_);
  const std::shared_ptr<Letter> letter = mail_.ask(parcel);
  if (!letter) return;
  if (!letter->whole) {
    letter->claimed_by = &parcel;
    return;
  }
  lock.unlock();
  if (parcel.bytes > 0) std::memcpy(parcel.data, letter->data.get(), std::min(parcel.bytes, letter->bytes));
  lock.lock();
  parcel.done = true;
}

/// Why a parcel will never be done. Under the lock.
std::optional<Error> PostOffice::failure_of(const Parcel& parcel) const {
  if (unkept_) {
    return Error(ErrorKind::kMemory,
                 str("no memory for a message of ", unkept_->bytes, " bytes from rank ", unkept_->from, " on ",
                     member(unkept_->from).host),
                 "give this rank more memory, or train a smaller net");
  }
  const auto gone = gone_.find(parcel.peer);
  const bool given_up = loss_ == Loss::kEndsTheJob && gone != gone_.end() && Clock::now() - gone->second > kWatchSpeaks;
  if (!halted_ && !given_up) return {};
  return Error(ErrorKind::kCommunication,
               str("rank ", parcel.peer, " on ", member(parcel.peer).host, " has closed its connection"),
               "look at that rank's log");
}

void PostOffice::wait(Parcel& parcel) {
  if (!parcel.under_way) return;
  std::unique_lock lock(mutex_);
  while (!parcel.done) {
    if (broken_) {
      lock.unlock();
      throw_broken();
    }
    changed_.wait_for(lock, kLook);
    if (parcel.done || broken_) continue;
    const std::optional<Error> failure = failure_of(parcel);
    if (!failure) continue;
    lock.unlock();
    halt();
    throw Error(*failure);
  }
  parcel.under_way = false;
  arrivals().fetch_add(1, std::memory_order_relaxed);
}

void PostOffice::break_off(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    if (!broken_) why_broken_ = why;
    broken_ = true;
  }
  changed_.notify_all();
}

void PostOffice::check() {
  if (broken_) throw_broken();
}

void PostOffice::throw_broken() {
  halt();  // whoever waits takes its memory away
  const std::lock_guard lock(mutex_);
  throw EndOfGeneration(EndOfGeneration::Kind::kFault, why_broken_);
}

Descriptor PostOffice::take_listener() {
  halt();
  return std::move(company_.listener);
}

/// Nobody answers on a connection: it can be read when its other end is gone. One that has nothing to send would not be
/// looked at otherwise.
void PostOffice::look_for_hang_ups() {
  if (Clock::now() - looked_ < kLook) return;
  looked_ = Clock::now();
  std::vector<std::pair<int, pollfd>> lines;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [to, line] : outgoing_) {
      if (!line.is_broken() && !gone_.contains(to)) lines.push_back({to, {line.fd(), POLLRDHUP, 0}});
    }
  }
  for (auto& [to, polled] : lines) {
    if (poll(&polled, 1, 0) > 0 && (polled.revents & (POLLRDHUP | POLLHUP | POLLERR))) note_gone(to);
  }
}

/// Whoever has left without a word has ended the generation, or knows that somebody else has.
void PostOffice::judge_gone() {
  if (loss_ == Loss::kEndsTheJob || broken_) return;
  look_for_hang_ups();
  std::string why = Clock::now() > deadline_.load() ? "the ranks did not all reach each other in time" : "";
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [rank, since] : gone_) {
      if (Clock::now() - since <= kWatchSpeaksOfGeneration) continue;
      why = str("rank ", rank, " on ", member(rank).host, " has closed its connection");
    }
  }
  if (!why.empty()) break_off(why);
}

void PostOffice::mark_done(Parcel& parcel) {
  const std::lock_guard lock(mutex_);
  parcel.done = true;
  changed_.notify_all();
}

void PostOffice::note_gone(int rank) {
  const std::lock_guard lock(mutex_);
  gone_.try_emplace(rank, Clock::now());
}

void PostOffice::serve() {
  while (!stops_) {
    poll_lines();
    uint64_t rings = 0;
    [[maybe_unused]] const ssize_t got = read(bell_.get(), &rings, sizeof rings);
    greet_callers();
    incoming_.remove_if([this](IncomingLine& line) { return !move(line); });
    for (const auto& [to, line] : busy_lines()) move(*line, to);
    judge_gone();
    pass_end_on();
  }
}

std::vector<std::pair<int, OutgoingLine*>> PostOffice::busy_lines() {
  std::vector<std::pair<int, OutgoingLine*>> busy;
  const std::lock_guard lock(mutex_);
  for (auto& [to, line] : outgoing_) {
    if (line.load()) busy.emplace_back(to, &line);
  }
  return busy;
}

void PostOffice::poll_lines() {
  polled_.assign({{bell_.get(), POLLIN, 0}});
  // Whom nobody can let in must not keep this thread awake.
  if (!closed_) polled_.push_back({company_.listener.get(), POLLIN, 0});
  for (const IncomingLine& line : incoming_) polled_.push_back({line.fd(), POLLIN, 0});
  for (const auto& [to, line] : busy_lines()) polled_.push_back({line->fd(), POLLOUT, 0});
  poll(polled_.data(), polled_.size(), closed_ ? 100 : 1000);
}

/// Whether one more may come in: the oldest that has not said who it is, and is on no host of the job, leaves for it.
bool PostOffice::make_room() {
  if (std::ranges::count_if(incoming_, is_stranger) < static_cast<std::ptrdiff_t>(kStrangers)) return true;
  const auto is_unknown = [this](const IncomingLine& line) {
    const auto is_there = [&](const Member& member) { return member.address == line.caller(); };
    return is_stranger(line) && std::ranges::none_of(company_.members, is_there);
  };
  const auto oldest = std::ranges::find_if(incoming_, is_unknown);
  if (oldest == incoming_.end()) return false;
  incoming_.erase(oldest);
  return true;
}

/// Lets callers in, and those out that do not say who they are.
void PostOffice::greet_callers() {
  const auto now = Clock::now();
  incoming_.remove_if(
      [&](const IncomingLine& line) { return is_stranger(line) && now - line.since() > kGreetedWithin; });
  closed_ = false;
  for (size_t callers = 0; callers < kStrangers; ++callers) {
    if (!make_room()) {
      closed_ = true;
      return;
    }
    Address from = 0;
    Descriptor caller = accept_from(company_.listener.get(), &from);
    if (!caller.is_open()) {
      closed_ = !is_for_later(errno);  // no descriptor is left: the caller waits in the system
      return;
    }
    incoming_.emplace_back(std::move(caller), from, now);
  }
}

void PostOffice::move(OutgoingLine& line, int to) {
  Parcel* sent = nullptr;
  const Progress progress = line.step(sent);
  if (sent) mark_done(*sent);
  if (progress == Progress::kBroken) note_gone(to);
}

bool PostOffice::welcome(IncomingLine& line) {
  const Greeting& its = line.greeting();
  if (its.magic != Greeting{}.magic || its.token != company_.token || its.to != rank()) return false;
  if (its.from < 0 || its.from >= ranks()) return false;
  line.accept();
  return true;
}

bool PostOffice::move(IncomingLine& line) {
  if (line.from() < 0) {
    const Progress progress = line.read_greeting();
    if (progress == Progress::kNothing) return true;
    if (progress == Progress::kBroken || !welcome(line)) return false;
  }
  for (int messages = 0; messages < kMessagesAtOnce; ++messages) {
    Progress progress = Progress::kAgain;
    if (!line.in_body()) progress = line.read_head();
    if (progress == Progress::kAgain && !line.in_body() && !begin_message(line)) progress = Progress::kBroken;
    if (progress == Progress::kAgain) progress = line.read_body();
    if (progress == Progress::kNothing) return true;
    if (progress == Progress::kBroken) {
      note_gone(line.from());
      return false;
    }
    end_message(line);
  }
  return true;
}

/// False: this is not our language, or more than there is memory for.
bool PostOffice::begin_message(IncomingLine& line) try {
  const Head& head = line.head();
  const std::lock_guard lock(mutex_);
  if (head.conversation == kEndOfJob) {
    if (!end_) end_ = End{static_cast<int>(head.bytes), line.from(), Clock::now()};
    return false;
  }
  if (head.bytes > kMostBytes) return false;
  Mailboxes::Target target = mail_.begin(head.conversation, line.from(), head.bytes);
  if (target.parcel && target.parcel->bytes != head.bytes) return false;
  line.begin_body(std::move(target));
  return true;
} catch (const std::bad_alloc&) {
  const std::lock_guard lock(mutex_);
  unkept_ = Unkept{line.from(), line.head().bytes};
  changed_.notify_all();
  return false;
}

void PostOffice::end_message(IncomingLine& line) {
  const Mailboxes::Target target = line.end_body();
  if (target.parcel) return mark_done(*target.parcel);
  Parcel* claimed_by = nullptr;
  {
    const std::lock_guard lock(mutex_);
    target.letter->whole = true;
    claimed_by = target.letter->claimed_by;
  }
  if (!claimed_by) return;
  const size_t bytes = std::min(claimed_by->bytes, target.letter->bytes);
  if (bytes > 0) std::memcpy(claimed_by->data, target.letter->data.get(), bytes);
  mark_done(*claimed_by);
}

void PostOffice::end_job(int code) {
  std::unique_lock lock(mutex_);
  if (!end_) end_ = End{code, -1, Clock::now()};
  lock.unlock();
  wake();
  lock.lock();
  changed_.wait_for(lock, kToldWithin, [this] { return end_is_told_ || halted_; });
}

/// Those who talk with this rank hear of the end, and it ends with them.
void PostOffice::pass_end_on() {
  std::unique_lock lock(mutex_);
  if (!end_) return;
  const End end = *end_;
  if (!end_is_told_) {
    for (const IncomingLine& line : incoming_) {
      if (line.from() >= 0) line_to(line.from());
    }
    for (auto& [to, line] : outgoing_) {
      if (to != end.from) line.queue_end_of_job(end.code);
    }
    end_is_told_ = true;
    lock.unlock();
    wake();
    return;
  }
  lock.unlock();
  if (!busy_lines().empty() && Clock::now() - end.since < kToldWithin) return;
  changed_.notify_all();
  if (end.from < 0) return;
  std::fprintf(stderr, "caffe: rank %d on %s ends the job with code %d\n", end.from, member(end.from).host, end.code);
  std::fflush(nullptr);
  std::_Exit(end.code);
}

}  // namespace robusta::sockets
