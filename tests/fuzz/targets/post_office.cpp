// What a stranger may send to the port at which a rank without MPI takes messages: the bytes as they are; and what a
// rank of the job may send that is not as it should be: the same behind a greeting.

#include "comm/sockets/post_office.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <cstring>

#include "fuzz.h"

namespace robusta::fuzz {
namespace {

using namespace sockets;

/// Of two ranks this is the first, and the second is the sender.
struct Rank {
  uint16_t port = 0;
  Token token = liveness::draw_token();
  Company company;

  Rank() {
    const Address here = htonl(INADDR_LOOPBACK);
    company.token = token;
    company.listener = listen_at(here, port);
    company.members.resize(2);
    company.members[0].address = company.members[1].address = here;
    company.members[0].port = port;
  }
};

/// Sends, and waits until the rank has closed the connection, which it does when it has read all, or will hear no more.
void send_to(uint16_t port, const std::string& bytes) {
  const auto soon = Clock::now() + std::chrono::seconds(30);  // on a busy machine, too
  const Descriptor line = begin_connect(htonl(INADDR_LOOPBACK), port);
  if (!await(line.get(), POLLOUT, soon)) return;
  send_all(line.get(), bytes.data(), bytes.size(), soon);
  ::shutdown(line.get(), SHUT_WR);
  char answer = 0;
  if (receive_all(line.get(), &answer, 1, soon) == ETIMEDOUT)
    throw std::logic_error("the rank keeps a dead connection");
}

/// What comes before a head by which a rank ends the job, and with it this process. Also before one that announces as
/// much as a message may have, and more than a fuzzer may ask for: it is not touched until it comes, but counts.
std::string_view before_the_end(std::string_view input) {
  constexpr uint64_t kMost = uint64_t{256} << 20, kRefused = uint64_t{1} << 40;
  size_t at = 0;
  while (input.size() - at >= sizeof(Head)) {
    Head head;
    std::memcpy(&head, input.data() + at, sizeof head);
    const bool asks_too_much = head.bytes > kMost && head.bytes <= kRefused;
    if (head.conversation == kEndOfJob || asks_too_much) return input.substr(0, at);
    at += sizeof head;
    if (head.bytes > input.size() - at) break;  // no other head follows
    at += static_cast<size_t>(head.bytes);
  }
  return input;
}

void read_messages(std::string_view input) {
  Rank rank;
  const uint16_t port = rank.port;
  Greeting greeting;
  greeting.from = 1;
  greeting.token = rank.token;
  PostOffice office(std::move(rank.company));
  std::string from_a_rank(reinterpret_cast<const char*>(&greeting), sizeof greeting);
  send_to(port, std::string(input));
  send_to(port, from_a_rank.append(before_the_end(input)));
}

[[maybe_unused]] const bool registered_post_office = register_target("post_office", read_messages);

}  // namespace
}  // namespace robusta::fuzz
