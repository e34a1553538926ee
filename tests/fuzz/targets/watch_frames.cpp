// What another process may send to the liveness watch: the bytes come through a socket, as a guest's and as a peer's.

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

#include "comm/liveness/link.h"
#include "comm/liveness/messages.h"
#include "comm/liveness/verdict.h"
#include "fuzz.h"

namespace robusta::fuzz {
namespace {

using namespace liveness;

constexpr int kRanks = 4;

Roster four_ranks() {
  Roster roster;
  for (int rank = 0; rank < kRanks; ++rank) {
    Contact contact;
    copy_text(contact.host, "node");
    contact.pid = 100 + rank;
    roster.push_back(contact);
  }
  return roster;
}

/// As the watch takes them: nothing of a frame is used before it is sane.
void read_frames(const std::vector<Frame>& frames) {
  static const Roster roster = four_ranks();
  for (const Frame& frame : frames) {
    Beat beat;
    if (unpack(frame, beat)) is_sane(beat, RankId(1), kRanks);
    Hello hello;
    unpack(frame, hello);
    Verdict verdict;
    if (!unpack(frame, verdict) || !is_sane(verdict, kRanks)) continue;
    is_better(verdict, verdict);
    one_line(verdict, roster);
    report(verdict, roster);
    short_line(verdict, roster, RankId(2));
  }
}

/// Sends all bytes, as much at a time as the socket takes, and reads on until the link is not open any more.
template <typename Receive>
void send_through(std::string_view input, const Receive& receive) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) return;
  const Descriptor sender(ends[0]);
  Link link{Descriptor(ends[1])};
  for (;;) {
    const ssize_t sent = ::send(sender.get(), input.data(), input.size(), MSG_NOSIGNAL);
    if (sent > 0) input.remove_prefix(static_cast<size_t>(sent));
    if (input.empty()) ::shutdown(sender.get(), SHUT_WR);
    std::vector<Frame> frames;
    const Link::Outcome outcome = receive(link, frames);
    read_frames(frames);
    if (outcome != Link::Outcome::kOpen) return;
    if (frames.empty() && sent <= 0 && !input.empty()) return;  // a guest's bytes that nobody reads
  }
}

void read_watch_frames(std::string_view input) {
  send_through(input, [](Link& link, std::vector<Frame>& frames) { return link.receive(frames); });
  send_through(input, [](Link& link, std::vector<Frame>& frames) { return link.receive_hello(frames); });
}

[[maybe_unused]] const bool registered_watch_frames = register_target("watch_frames", read_watch_frames);

}  // namespace
}  // namespace robusta::fuzz
