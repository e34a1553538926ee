// Bytes that pass over TCP, by connections of the loopback.
#include "comm/liveness/transfers.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>
#include <thread>

#include "comm/liveness/interfaces.h"

namespace robusta::test::transfers_test {
namespace {

using namespace liveness;

/// Two ends of a connection over the loopback.
class Pair {
 public:
  Pair() {
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in place = socket_address(htonl(INADDR_LOOPBACK), 0);
    socklen_t size = sizeof place;
    auto* const address = reinterpret_cast<sockaddr*>(&place);
    const bool listens =
        bind(listener, address, size) == 0 && listen(listener, 1) == 0 && getsockname(listener, address, &size) == 0;
    one = socket(AF_INET, SOCK_STREAM, 0);
    if (!listens || connect(one, address, size) != 0) throw std::runtime_error("no loopback");
    other = accept(listener, nullptr, nullptr);
    port = ntohs(place.sin_port);
    close(listener);
  }
  ~Pair() {
    close(one);
    close(other);
  }
  Pair(const Pair&) = delete;

  void pass(size_t bytes) const {
    std::string text(bytes, 'x');
    ASSERT_EQ(send(one, text.data(), bytes, 0), static_cast<ssize_t>(bytes));
    ASSERT_EQ(recv(other, text.data(), bytes, MSG_WAITALL), static_cast<ssize_t>(bytes));
    // The acknowledgement may be delayed by 200 ms.
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }

  int one = -1, other = -1;
  uint16_t port = 0;
};

Contact contact_at(Address address, uint16_t port = 0) {
  Contact contact;
  contact.addresses[0] = {address, 8};
  contact.address_count = 1;
  contact.port = port;
  return contact;
}

const Address kHere = htonl(INADDR_LOOPBACK);

TEST(TransfersTest, BytesThatPassAreSeen) {
  const Pair pair;
  Transfers transfers({contact_at(kHere), contact_at(kHere)}, RankId(1), RankId(0));
  const uint64_t before = transfers.look();
  EXPECT_EQ(transfers.look(), before) << "nothing passes";
  pair.pass(1);
  EXPECT_EQ(transfers.look(), before + 1);
  pair.pass(100000);
  EXPECT_EQ(transfers.look(), before + 2);
  EXPECT_EQ(transfers.look(), before + 2);
}

TEST(TransfersTest, ConnectionsOfTheWatchAndOfStrangersCountForNothing) {
  const Pair pair;
  Transfers strangers({contact_at(inet_addr("192.0.2.1")), contact_at(inet_addr("192.0.2.2"))}, RankId(1), RankId(0));
  // Both ends lie in this process: one called the port that the other listened at.
  Transfers watch({contact_at(kHere, pair.port), contact_at(kHere, pair.port)}, RankId(1), RankId(0));
  const uint64_t theirs = strangers.look(), own = watch.look();
  pair.pass(1000);
  EXPECT_EQ(strangers.look(), theirs);
  EXPECT_EQ(watch.look(), own);
}

}  // namespace
}  // namespace robusta::test::transfers_test
