// Gathers the events of all ranks on one clock (host_clocks.h) and writes them as one trace (chrome_trace.h).
#include "solver/reports/timeline/timeline.h"

#include <algorithm>
#include <optional>

#include "base/atomic_file.h"
#include "base/log.h"
#include "base/str.h"
#include "comm/host_name.h"
#include "robusta/error.h"
#include "solver/reports/timeline/chrome_trace.h"

namespace robusta {
namespace {

constexpr size_t kPiece = size_t{1} << 20;  // what goes over the network at once

size_t ring_size(const TimelineOptions& options, size_t events) {
  constexpr size_t kLeast = size_t{1} << 12, kMost = size_t{1} << 20;  // 128 KiB, 32 MiB
  const int iterations = options.first < 0 ? TimelineOptions::kLatest : options.last - options.first + 1;
  // A test or a snapshot comes in between now and then.
  return std::clamp((static_cast<size_t>(iterations) + 1) * (events + 4), kLeast, kMost);
}

/// Pieces of text of all other ranks, one after the other, as rank 0 receives them.
class PiecesOfOthers {
 public:
  explicit PiecesOfOthers(Ranks& ranks) : ranks_(ranks) {}
  bool next(std::string& piece) {
    while (rank_ < ranks_.count()) {
      uint64_t size = 0;
      ranks_.control().exchange(nullptr, 0, -1, &size, sizeof size, rank_);
      piece.resize(size);
      if (size > 0) {
        ranks_.control().exchange(nullptr, 0, -1, piece.data(), size, rank_);
        return true;
      }
      ++rank_;
    }
    return false;
  }

  static void send(Ranks& ranks, const std::string& piece) {
    const uint64_t size = piece.size();
    ranks.control().exchange(&size, sizeof size, 0, nullptr, 0, -1);
    if (size > 0) ranks.control().exchange(piece.data(), size, 0, nullptr, 0, -1);
  }

 private:
  Ranks& ranks_;
  int rank_ = 1;
};

/// A number of one to nine digits.
std::optional<int> iteration_in(const std::string& text) {
  const bool digits = !text.empty() && text.size() <= 9 && text.find_first_not_of("0123456789") == std::string::npos;
  return digits ? std::optional<int>(std::stoi(text)) : std::nullopt;
}

}  // namespace

TimelineOptions parse_timeline(const std::string& text) {
  TimelineOptions options{text, -1, -1};
  const size_t colon = text.rfind(':');
  const size_t dash = text.rfind('-');
  // A file's name may hold either character: only FILE:FIRST-LAST with numbers is a range.
  if (colon == std::string::npos || colon == 0 || dash == std::string::npos || dash < colon) return options;
  const std::optional<int> first = iteration_in(text.substr(colon + 1, dash - colon - 1));
  const std::optional<int> last = iteration_in(text.substr(dash + 1));
  if (!first || !last) return options;
  options = {text.substr(0, colon), *first, *last};
  if (options.first <= options.last) return options;
  throw Error(ErrorKind::kUsage, str("-timeline ", text, ": iteration ", options.first, " comes after ", options.last),
              "give FILE:FIRST-LAST, or FILE alone for the latest iterations");
}

Timeline::Timeline(Ranks& ranks, TimelineOptions options, size_t events)
    : ranks_(ranks), options_(std::move(options)), recorder_(ring_size(options_, events)), origin_(steady_ns()) {
  ranks_.root_only([&] { require_writable_file("the timeline", options_.file); });
  clock_.first_at = steady_ns();
  // Measured now and once more at the end: clocks of hosts run at slightly different speeds, and between both times a
  // straight line tells the offset.
  clock_.first = clock_offset(ranks_, steady_ns);
  ranks_.broadcast_value(origin_);
}

void Timeline::at_iteration(int iteration) {
  const bool on = options_.first < 0 || (iteration >= options_.first && iteration <= options_.last);
  recorder_.turn(on);
}

/// Local time: where the newest of the iterations that are left out ends.
int64_t Timeline::first_kept() const {
  const TraceRing& driver = recorder_.driver();
  int latest = -1;
  for (size_t i = 0; i < driver.size(); ++i) {
    if (driver[i].kind == TraceKind::kIteration) latest = std::max(latest, driver[i].number);
  }
  int64_t end = 0;
  for (size_t i = 0; i < driver.size() && options_.first < 0; ++i) {
    const TraceEvent& event = driver[i];
    const bool left_out = event.kind == TraceKind::kIteration && event.number <= latest - TimelineOptions::kLatest;
    if (left_out) end = std::max(end, event.end);
  }
  return end;
}

template <typename Use>
void Timeline::for_each_piece(const Use& use) const {
  const int rank = ranks_.rank();
  // The names begin the array, so that every other line can begin with a comma.
  const std::string host = ranks_.alone() ? host_name() : ranks_.topology().host_of(rank);
  std::string piece = (rank > 0 ? ",\n" : "") + trace_names(rank, host);
  const int64_t first = first_kept();
  int thread = 0;
  for (const TraceRing* ring : {&recorder_.driver(), &recorder_.reductions()}) {
    for (size_t i = 0; i < ring->size(); ++i) {
      if ((*ring)[i].begin < first) continue;
      piece += trace_line((*ring)[i], rank, thread, clock_, origin_);
      if (piece.size() < kPiece) continue;
      use(piece);
      piece.clear();
    }
    ++thread;
  }
  if (!piece.empty()) use(piece);
}

void Timeline::write() {
  recorder_.end_step();
  clock_.last_at = steady_ns();
  clock_.last = clock_offset(ranks_, steady_ns);
  ranks_.doing("the timeline", Activity::kPausing, 3600);
  std::optional<Error> failed;
  if (ranks_.root()) {
    failed = write_all_ranks();
  } else {
    for_each_piece([&](const std::string& piece) { PiecesOfOthers::send(ranks_, piece); });
    PiecesOfOthers::send(ranks_, "");
  }
  ranks_.root_only([&] {
    if (failed) throw *failed;
  });
  if (!ranks_.root()) return;
  LOG_INFO << "Wrote the timeline " << options_.file
           << (options_.first >= 0 && recorder_.driver().overflowed() ? "; its first iterations did not fit into memory"
                                                                      : "");
}

std::optional<Error> Timeline::write_all_ranks() {
  PiecesOfOthers others(ranks_);
  std::string piece;
  std::optional<Error> failed;
  try {
    write_file_atomically(options_.file, [&](int fd) {
      const auto put = [fd](const std::string& text) { write_all(fd, text.data(), text.size()); };
      put(kTraceHead);
      for_each_piece(put);
      while (others.next(piece)) put(piece);
      put(kTraceTail);
    });
  } catch (const Error& error) {
    failed = error;
  }
  while (others.next(piece)) {
    // They send, whether or not it can be written.
  }
  return failed;
}

}  // namespace robusta
