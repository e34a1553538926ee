// Bytes that pass over TCP, by connections of the loopback, over IPv4 and IPv6.
#include "comm/liveness/transfers.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <stdexcept>
#include <thread>

#include "comm/liveness/interfaces.h"

namespace robusta::test::transfers_test {
namespace {

using namespace liveness;

/// Two ends of a connection to `place`, whose port the system chooses.
template <typename Place>
class PairAt {
 public:
  explicit PairAt(Place place) {
    const int listener = socket(family_of(place), SOCK_STREAM, 0);
    socklen_t size = sizeof place;
    auto* const address = reinterpret_cast<sockaddr*>(&place);
    const bool listens =
        bind(listener, address, size) == 0 && listen(listener, 1) == 0 && getsockname(listener, address, &size) == 0;
    one = socket(family_of(place), SOCK_STREAM, 0);
    if (!listens || connect(one, address, size) != 0) {
      close(one);
      close(listener);
      throw std::runtime_error("no loopback");
    }
    other = accept(listener, nullptr, nullptr);
    port = ntohs(port_of(place));
    close(listener);
  }
  ~PairAt() {
    close(one);
    close(other);
  }
  PairAt(const PairAt&) = delete;

  void pass(size_t bytes) const {
    std::string text(bytes, 'x');
    ASSERT_EQ(send(one, text.data(), bytes, 0), static_cast<ssize_t>(bytes));
    ASSERT_EQ(recv(other, text.data(), bytes, MSG_WAITALL), static_cast<ssize_t>(bytes));
    // The acknowledgement may be delayed by 200 ms.
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }

  int one = -1, other = -1;
  uint16_t port = 0;

 private:
  static sa_family_t family_of(const sockaddr_in& at) { return at.sin_family; }
  static sa_family_t family_of(const sockaddr_in6& at) { return at.sin6_family; }
  static in_port_t port_of(const sockaddr_in& at) { return at.sin_port; }
  static in_port_t port_of(const sockaddr_in6& at) { return at.sin6_port; }
};

struct Pair : PairAt<sockaddr_in> {
  Pair() : PairAt(socket_address(htonl(INADDR_LOOPBACK), 0)) {}
};

struct Pair6 : PairAt<sockaddr_in6> {
  explicit Pair6(const char* address) : PairAt(place_at(address)) {}
  static sockaddr_in6 place_at(const char* address) {
    sockaddr_in6 place{};
    place.sin6_family = AF_INET6;
    inet_pton(AF_INET6, address, &place.sin6_addr);
    return place;
  }
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
  const uint64_t before = transfers.look(0);
  EXPECT_EQ(transfers.look(0), before) << "nothing passes";
  pair.pass(1);
  EXPECT_EQ(transfers.look(0), before + 1);
  pair.pass(100000);
  EXPECT_EQ(transfers.look(0), before + 2);
  EXPECT_EQ(transfers.look(0), before + 2);
}

Contact contact_at6(const char* address) {
  Contact contact = contact_at(inet_addr("192.0.2.1"));
  set_addresses6(contact, {address_of(Pair6::place_at(address))});
  return contact;
}

TEST(TransfersTest, BytesOverIpv6AreSeenWhereTheHostIsOfTheJob) {
  std::optional<Pair6> pair;
  try {
    pair.emplace("::1");
  } catch (const std::runtime_error&) {
    GTEST_SKIP() << "this machine has no IPv6";
  }
  Transfers transfers({contact_at6("::1"), contact_at6("::1")}, RankId(1), RankId(0));
  Transfers strangers({contact_at6("2001:db8::1"), contact_at6("2001:db8::2")}, RankId(1), RankId(0));
  const uint64_t before = transfers.look(0), theirs = strangers.look(0);
  EXPECT_EQ(transfers.look(0), before) << "nothing passes";
  pair->pass(1000);
  EXPECT_EQ(transfers.look(0), before + 1);
  EXPECT_EQ(strangers.look(0), theirs);
}

TEST(TransfersTest, Ipv4BySocketsOfIpv6IsIpv4) {
  std::optional<Pair6> pair;
  try {
    pair.emplace("::ffff:127.0.0.1");
  } catch (const std::runtime_error&) {
    GTEST_SKIP() << "this machine has no IPv6";
  }
  Transfers transfers({contact_at(kHere), contact_at(kHere)}, RankId(1), RankId(0));
  Transfers watch({contact_at(kHere, pair->port), contact_at(kHere, pair->port)}, RankId(1), RankId(0));
  const uint64_t before = transfers.look(0), own = watch.look(0);
  pair->pass(1000);
  EXPECT_EQ(transfers.look(0), before + 1);
  EXPECT_EQ(watch.look(0), own);
}

TEST(TransfersTest, APeerThatDoesNotReadAnswersAllTheSame) {
  const Pair pair;
  Transfers transfers({contact_at(kHere), contact_at(kHere)}, RankId(1), RankId(0));
  const std::string text(1 << 20, 'x');
  while (send(pair.one, text.data(), text.size(), MSG_DONTWAIT) > 0) continue;  // until all buffers are full
  constexpr int kTenths = 30;
  for (int tenth = 0; tenth <= kTenths; ++tenth) {
    transfers.look(tenth / 10.0);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_LT(transfers.unanswered().seconds, 0.75 * kTenths / 10);
}

TEST(TransfersTest, WhatIsAnsweredAtOnceIsNoted) {
  const Pair pair;
  Transfers transfers({contact_at(kHere), contact_at(kHere)}, RankId(1), RankId(0));
  pair.pass(1000);
  transfers.look(0);
  transfers.look(100);
  EXPECT_FALSE(transfers.unanswered().to);
}

TEST(TransfersTest, ConnectionsOfTheWatchAndOfStrangersCountForNothing) {
  const Pair pair;
  Transfers strangers({contact_at(inet_addr("192.0.2.1")), contact_at(inet_addr("192.0.2.2"))}, RankId(1), RankId(0));
  // Both ends lie in this process: one called the port that the other listened at.
  Transfers watch({contact_at(kHere, pair.port), contact_at(kHere, pair.port)}, RankId(1), RankId(0));
  const uint64_t theirs = strangers.look(0), own = watch.look(0);
  pair.pass(1000);
  EXPECT_EQ(strangers.look(0), theirs);
  EXPECT_EQ(watch.look(0), own);
}

}  // namespace
}  // namespace robusta::test::transfers_test
