// One loop: wait for sockets or for the next deadline, feed the state machine, send what it says.

#include "comm/liveness/watch_thread.h"

#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "base/str.h"
#include "base/thread_name.h"
#include "comm/arrivals.h"
#include "comm/liveness/restart_code.h"
#include "robusta/error.h"

namespace robusta::liveness {
namespace {

/// For last words; then the process ends without them.
constexpr double kLastWords = 3;
/// mpirun kills all ranks soon after the first has gone: those that report nothing let rank 0 go first.
constexpr double kAfterYou = 0.5;
/// For the neighbours to close their ends.
constexpr double kFarewell = 1;
/// From an announced error to the end of the process.
constexpr double kAnnounced = 5;

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

Timing timing_of(const LivenessOptions& options) {
  Timing timing;
  timing.timeout = options.timeout_s;
  // So many beats within a timeout that some may be lost or late, and not so many that they cost anything.
  timing.beat = options.beat_s > 0 ? options.beat_s : std::min(1.0, options.timeout_s / 30);
  timing.connect = std::max(options.connect_s, options.timeout_s);
  return timing;
}

void check_listening(const Roster& roster) {
  for (const Contact& contact : roster) {
    if (contact.cannot_listen == 0) continue;
    throw Error(ErrorKind::kCommunication, str("the liveness watch of a rank on ", contact.host, " cannot listen"),
                "see the error of that rank");
  }
}

/// Where the children of this rank call.
std::vector<Address> places_to_listen(const Neighbours& neighbours, const Roster& roster, RankId rank) {
  std::vector<std::vector<NetworkAddress>> callers;
  for (const RankId child : neighbours.remote) {
    if (child != neighbours.parent) callers.push_back(addresses_of(roster[child]));
  }
  const bool callers_here = callers.size() < neighbours.children.size();
  return listening_addresses(addresses_of(roster[rank]), callers, callers_here, source_address);
}

/// Listens for the children, and enters in `mine` where.
std::optional<Listener> listen_for(const Neighbours& neighbours, const Roster& roster, RankId rank, Contact& mine) {
  if (neighbours.children.empty()) return std::nullopt;
  const std::vector<Address> places = places_to_listen(neighbours, roster, rank);
  Listener listener(places);
  mine.port = listener.port();
  for (size_t i = 0; i < kMaxAddresses; ++i) {
    const bool here = std::find(places.begin(), places.end(), mine.addresses[i].address) != places.end();
    if (here && i < static_cast<size_t>(mine.address_count)) mine.listens_at |= 1u << i;
  }
  return listener;
}

}  // namespace

WatchThread::WatchThread(Communicator& world, LivenessOptions options)
    : rank_(world.rank()),
      options_(std::move(options)),
      timing_(timing_of(options_)),
      wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  // Not exit(): handlers and destructors would wait for the very thread that hangs.
  if (!options_.end_process) options_.end_process = [](int code) { _exit(final_code(code)); };
  // The roster is gathered twice: from the addresses each rank finds its neighbours and where to listen for them; then
  // all need to know at which port.
  Contact mine = own_contact(world);
  roster_ = gather_roster(world, mine);
  const Neighbours neighbours = find_neighbours(host_names(roster_), rank_);
  std::optional<Error> error;
  std::optional<Listener> listener;
  try {
    listener = listen_for(neighbours, roster_, rank_, mine);
  } catch (const Error& thrown) {
    error = thrown;
    mine.cannot_listen = 1;
  }
  roster_ = gather_roster(world, mine);
  if (error) throw *error;
  check_listening(roster_);
  state_.emplace(rank_, neighbours, timing_);
  transfers_.emplace(roster_, rank_, neighbours.parent);
  overload_.emplace(rank_, neighbours, std::clamp(timing_.timeout, 5.0, 60.0));
  mesh_.emplace(rank_, neighbours, roster_, std::move(listener), timing_);
  start_thread();
  try {
    connect(world);
  } catch (...) {
    cease();
    stop_thread();
    throw;
  }
}

WatchThread::~WatchThread() { stop_thread(); }

/// Signals are the business of the other threads.
void WatchThread::start_thread() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] {
    name_this_thread("watch");
    run();
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void WatchThread::stop_thread() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake();
  if (thread_.joinable()) thread_.join();
}

/// Every rank reaches its parent, or all throw what the first that did not has to say.
void WatchThread::connect(Communicator& world) {
  const RankId parent = find_neighbours(host_names(roster_), rank_).parent;
  std::string why;
  {
    std::unique_lock lock(mutex_);
    const auto limit = std::chrono::duration<double>(options_.connect_s);
    const bool reached = changed_.wait_for(lock, limit, [&] { return !parent || mesh_->is_up(parent); });
    if (!reached) {
      const Contact& me = roster_[rank_];
      const Contact& it = roster_[parent];
      why = str("rank ", rank_, " on ", me.host, " cannot reach rank ", parent, " on ", it.host, " within ",
                options_.connect_s, " s (", mesh_->why_down(), ")");
    }
    state_->start(now_s(), mesh_->up());
  }
  const std::vector<char> all = world.gather(static_cast<char>(!why.empty()));
  const auto first = std::find(all.begin(), all.end(), 1);
  if (first == all.end()) return;
  cease();
  char text[512] = {};
  copy_text(text, why);
  world.broadcast(text, sizeof text, static_cast<int>(first - all.begin()));
  // Nobody closes a link before all know that this is no death.
  world.barrier();
  throw Error(ErrorKind::kCommunication, text,
              "let TCP connections pass between all hosts of the job on any port (firewall, host names, networks), or "
              "train without the liveness watch by -timeout 0");
}

void WatchThread::cease() {
  const std::lock_guard lock(mutex_);
  state_->cease();
}

void WatchThread::run() {
  std::unique_lock lock(mutex_);
  // An owner that leaves while a verdict stands ends by the verdict, unless it knows it already.
  while (phase_ != Phase::kOver && !(stop_ && (announced_ || !state_->verdict()))) {
    const double seconds = seconds_to_wait(now_s());
    lock.unlock();
    mesh_->wait(now_s(), seconds, wake_.get());
    uint64_t count;
    // However often it was woken, it looks once.
    while (read(wake_.get(), &count, sizeof count) > 0) continue;
    lock.lock();
    look(now_s());
  }
  changed_.notify_all();
}

double WatchThread::seconds_to_wait(double now) const {
  if (phase_ == Phase::kLeaving || phase_ == Phase::kEnding) return 0.02;
  double until = std::min(state_->next_beat(), now + timing_.beat);
  if (state_->verdict()) until = std::min(until, state_->ends_at());
  return until - now;
}

void WatchThread::look(double now) {
  mesh_->receive(*state_, now);
  take_sample(now);
  state_->sample(sample_, now);
  tell_overload(now);
  state_->tick(now);
  mesh_->send(*state_);
  if (state_->verdict()) failed.store(true, std::memory_order_relaxed);
  if (phase_ == Phase::kWatching && (state_->done() || state_->ends(now))) {
    phase_ = state_->done() ? Phase::kLeaving : Phase::kEnding;
    phase_since_ = now;
  }
  if (phase_ == Phase::kLeaving) leave(now);
  if (phase_ == Phase::kEnding) end(now);
  changed_.notify_all();
}

/// What the system knows is asked for once per beat, and of transfers only while this rank waits for others and nothing
/// else moves: they excuse nobody who stands still by itself.
void WatchThread::take_sample(double now) {
  board.read(sample_);
  sample_.moves += arrivals().load(std::memory_order_relaxed);
  if (now >= system_read_at_ + timing_.beat) {
    sample_.starved = starvation_.seconds(now);
    const bool waits = sample_.moves == moves_then_ && sample_.activity == Activity::kWaiting;
    if (waits) transfers_seen_ = transfers_->look(now);
    sample_.unanswered = waits ? transfers_->unanswered() : Unanswered();
    moves_then_ = sample_.moves;
    system_read_at_ = now;
  }
  sample_.moves += transfers_seen_;
}

void WatchThread::tell_overload(double now) {
  for (const auto& [child, report] : mesh_->take_loads()) overload_->hear(child, report, now);
  overload_->sample(sample_.starved, now);
  if (rank_ != RankId(0)) {
    if (const auto report = overload_->take_report(now)) mesh_->send_load(*report);
  } else if (const auto text = overload_->take_warning(roster_, now)) {
    // Of a thread of its own: whoever reads the log may have stopped reading.
    try {
      std::thread([text = *text] { LOG_WARNING << text; }).detach();
    } catch (const std::system_error&) {
      // So crowded a host has no thread to spare; the next warning may find one.
    }
  }
}

/// All ranks have finished, and know it or are about to hear it.
void WatchThread::leave(double now) {
  if (!mesh_->has_unsent()) mesh_->finish_sending();
  if (mesh_->all_closed() || now - phase_since_ > kFarewell) phase_ = Phase::kOver;
}

void WatchThread::end(double now) {
  const Verdict& verdict = *state_->verdict();
  const double since = now - phase_since_;
  if (!last_words_ && goes_on()) return;
  if (!last_words_) last_words_.emplace(verdict, state_->say(), roster_, rank_, options_.on_failure);
  const bool spoken = last_words_->spoken() || since > kLastWords;
  if (spoken && announced_) agreed_ = true;
  const double patience = announced_ ? kAnnounced : state_->say() == Say::kReport ? 0 : kAfterYou;
  if (!spoken || since < patience) return;
  mesh_->finish_sending();
  phase_ = Phase::kOver;
  options_.end_process(verdict.code);
}

/// Whether the owner leaves the rank at fault behind. Then there is nothing left to be watched here.
bool WatchThread::goes_on() {
  const Verdict& verdict = *state_->verdict();
  if (!options_.goes_on || !options_.goes_on(describe(verdict, roster_, rank_))) return false;
  kill_stopped(verdict, roster_, rank_);
  mesh_->finish_sending();
  phase_ = Phase::kOver;
  return true;
}

Failure WatchThread::announce_end(int code, const std::string& text) {
  std::unique_lock lock(mutex_);
  announced_ = true;
  if (phase_ == Phase::kWatching) state_->announce(code, text, now_s());
  wake();
  changed_.wait(lock, [&] { return agreed_ || phase_ == Phase::kOver || phase_ == Phase::kLeaving; });
  if (state_->verdict()) return describe(*state_->verdict(), roster_, rank_);
  // All ranks had finished, and none is left to be told.
  Failure failure;
  failure.code = code;
  failure.rank = rank_.number();
  failure.own = true;
  failure.line = text;
  return failure;
}

void WatchThread::goodbye() {
  std::unique_lock lock(mutex_);
  state_->finish(now_s());
  wake();
  changed_.wait(lock, [&] { return phase_ == Phase::kOver; });
}

Status WatchThread::straggler() const {
  const std::lock_guard lock(mutex_);
  return state_->straggler(now_s());
}

void WatchThread::wake() const {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof one);
}

}  // namespace robusta::liveness
