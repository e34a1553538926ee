// The life of the post office in this process. Its communicators keep it; leaving waits for all ranks first, so that
// nobody's last message is lost.

#include <cstdlib>
#include <numeric>

#include "base/str.h"
#include "comm/backend.h"
#include "comm/launch.h"
#include "comm/sockets/socket_communicator.h"
#include "comm/sockets/user_secret.h"
#include "robusta/error.h"

namespace robusta {
namespace sockets {
namespace {

constexpr double kMeetingSeconds = 300;

/// Of this process; null outside of join and leave. It is not destroyed when the process ends: in a child that fork has
/// made its thread is not there to be waited for.
std::shared_ptr<PostOffice>& office() {
  static auto* const own = new std::shared_ptr<PostOffice>;
  return *own;
}

Meeting meeting_of(const Launch& launch) {
  return {.rank = launch.rank,
          .ranks = launch.ranks,
          .host = launch.meeting_host,
          .port = launch.meeting_port,
          .secret = user_secret(),
          .seconds = meeting_seconds()};
}

Circle everybody() {
  Circle circle;
  circle.office = office();
  circle.ranks.resize(static_cast<size_t>(office()->ranks()));
  std::iota(circle.ranks.begin(), circle.ranks.end(), 0);
  circle.rank = office()->rank();
  return circle;
}

std::unique_ptr<Communicator> join_office() {
  // Each that joins again has a conversation of its own.
  static Conversation worlds = 0;
  Circle circle = everybody();
  circle.conversation = 2 * ++worlds;
  return std::make_unique<SocketCommunicator>(std::move(circle));
}

std::unique_ptr<Communicator> join() {
  if (!office()) office() = std::make_shared<PostOffice>(meet(meeting_of(own_launch())));
  return join_office();
}

void leave() {
  if (!office()) return;
  Circle circle = everybody();
  circle.conversation = ~Conversation{0} - 1;
  try {
    SocketCommunicator(std::move(circle)).barrier();
  } catch (const Error&) {
    // Somebody went without a goodbye; there is nothing left to wait for.
  }
  office().reset();
}

void abandon(int exit_code) {
  if (office()) office()->end_job(exit_code);
}

}  // namespace

double meeting_seconds() {
  const char* const text = std::getenv("ROBUSTA_MEETING_SECONDS");
  if (!text || !*text) return kMeetingSeconds;
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  if (*end == 0 && seconds > 0 && seconds <= 86'400) return seconds;
  throw Error(ErrorKind::kUsage, str("ROBUSTA_MEETING_SECONDS=", text), "give seconds, from 1 to 86400");
}

std::unique_ptr<Communicator> join_meeting(const Meeting& meeting) {
  if (office()) throw Error(ErrorKind::kUsage, "this process has joined ranks already", "end their communicator first");
  office() = std::make_shared<PostOffice>(meet(meeting));
  return join_office();
}

}  // namespace sockets

const WorldBackend& sockets_backend() {
  static constexpr WorldBackend kSockets{sockets::join, sockets::leave, sockets::abandon};
  return kSockets;
}

}  // namespace robusta
