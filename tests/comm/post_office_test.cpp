// Messages over sockets between post offices of one process.
#include "comm/sockets/post_office.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <chrono>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "comm/end_of_generation.h"
#include "comm/sockets/socket_communicator.h"
#include "support/errors.h"
#include "support/sanitizers.h"

namespace robusta::test::post_office_test {
namespace {

using namespace sockets;

/// Offices of ranks that have met.
std::vector<std::shared_ptr<PostOffice>> offices(int ranks, PostOffice::Loss loss = PostOffice::Loss::kEndsTheJob) {
  std::vector<Company> companies(static_cast<size_t>(ranks));
  std::vector<Member> members(companies.size());
  const Address here = resolve("127.0.0.1");
  for (size_t rank = 0; rank < companies.size(); ++rank) {
    uint16_t port = 0;
    companies[rank].rank = static_cast<int>(rank);
    companies[rank].listener = listen_at(here, port);
    members[rank].address = here;
    members[rank].port = port;
    std::strcpy(members[rank].host, "here");
  }
  std::vector<std::shared_ptr<PostOffice>> made;
  for (Company& company : companies) {
    company.members = members;
    company.token.fill(7);
    made.push_back(std::make_shared<PostOffice>(std::move(company), loss));
  }
  return made;
}

std::vector<std::byte> text_of(size_t bytes, int seed) {
  std::vector<std::byte> text(bytes);
  for (size_t i = 0; i < bytes; ++i) text[i] = static_cast<std::byte>(i * 31 + static_cast<size_t>(seed));
  return text;
}

Parcel parcel(std::vector<std::byte>& memory, int peer, Conversation conversation = 5) {
  return {memory.data(), memory.size(), peer, conversation, false, false};
}

/// A message of rank 0 to rank 1, asked for before it is sent, or after.
void check_message(size_t bytes, bool asked_first) {
  const auto both = offices(2);
  std::vector<std::byte> out = text_of(bytes, 3), in(bytes);
  Parcel sent = parcel(out, 1), received = parcel(in, 0);
  if (asked_first) both[1]->receive(received);
  both[0]->send(sent);
  both[0]->wait(sent);
  if (!asked_first) both[1]->receive(received);
  both[1]->wait(received);
  EXPECT_EQ(in, out) << bytes;
}

/// A caller from another address of the loopback, which no rank has, or from that of the ranks.
Descriptor call_from(const std::string& address, uint16_t port) {
  Descriptor caller(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in from = liveness::socket_address(resolve(address), 0);
  const sockaddr_in to = liveness::socket_address(resolve("127.0.0.1"), port);
  EXPECT_EQ(bind(caller.get(), reinterpret_cast<const sockaddr*>(&from), sizeof from), 0);
  EXPECT_EQ(connect(caller.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  return caller;
}

}  // namespace

TEST(PostOfficeTest, MessagesArrive) {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{70'000}, size_t{9'000'001}}) {
    check_message(bytes, true);
    if (bytes < 100'000) check_message(bytes, false);  // a longer one waits for its receiver's socket
  }
}

TEST(PostOfficeTest, ConversationsKeepTheirOrder) {
  const auto both = offices(2);
  std::vector<std::vector<std::byte>> out, in(6, std::vector<std::byte>(10));
  std::vector<Parcel> sent, received;
  for (int i = 0; i < 6; ++i) out.push_back(text_of(10, i));
  for (size_t i = 0; i < 6; ++i) sent.push_back(parcel(out[i], 1, i % 2 ? 8 : 6));
  for (Parcel& one : sent) both[0]->send(one);
  for (Parcel& one : sent) both[0]->wait(one);
  // All of the one, then all of the other.
  const std::vector<size_t> order{1, 3, 5, 0, 2, 4};
  for (const size_t i : order) received.push_back(parcel(in[i], 0, i % 2 ? 8 : 6));
  for (Parcel& one : received) both[1]->receive(one);
  for (Parcel& one : received) both[1]->wait(one);
  EXPECT_EQ(in, out);
}

TEST(PostOfficeTest, ARankWritesToItself) {
  const auto one = offices(1);
  std::vector<std::byte> out = text_of(100, 1), in(100), second(100);
  Parcel sent = parcel(out, 0), received = parcel(in, 0);
  one[0]->receive(received);
  one[0]->send(sent);
  one[0]->wait(received);
  EXPECT_EQ(in, out);
  one[0]->wait(sent);
  Parcel again = parcel(out, 0), late = parcel(second, 0);
  one[0]->send(again);
  one[0]->receive(late);
  one[0]->wait(late);
  EXPECT_EQ(second, out);
}

/// Who does not know the token is put out at once, and who says nothing keeps nobody else out.
TEST(PostOfficeTest, StrangersAreNotHeard) {
  const auto both = offices(2);
  const auto port = static_cast<uint16_t>(both[1]->member(1).port);
  std::vector<Descriptor> silent;
  for (int i = 0; i < 10; ++i) silent.push_back(begin_connect(resolve("127.0.0.1"), port));
  const Descriptor caller = begin_connect(resolve("127.0.0.1"), port);
  const auto deadline = Clock::now() + std::chrono::seconds(20);
  ASSERT_TRUE(await(caller.get(), POLLOUT, deadline));
  Greeting guess{.from = 0, .to = 1};
  guess.token.fill(8);
  ASSERT_EQ(send_all(caller.get(), &guess, sizeof guess, deadline), 0);
  char byte = 0;
  EXPECT_EQ(receive_all(caller.get(), &byte, 1, deadline), ECONNRESET) << "closed";
  std::vector<std::byte> out = text_of(50, 9), in(50);
  Parcel sent = parcel(out, 1), received = parcel(in, 0);
  both[0]->send(sent);
  both[1]->receive(received);
  both[1]->wait(received);
  both[0]->wait(sent);
  EXPECT_EQ(in, out);
}

/// More than are let in at a time.
TEST(PostOfficeTest, SilentCallersKeepNoRankOut) {
  const auto soon = Clock::now() + std::chrono::seconds(5);  // and not when they are due, after 10
  const auto both = offices(2);
  std::vector<Descriptor> silent;
  for (int i = 0; i < 100; ++i)
    silent.push_back(call_from("127.0.0.2", static_cast<uint16_t>(both[1]->member(1).port)));
  std::vector<std::byte> out = text_of(50, 9), in(50);
  Parcel sent = parcel(out, 1), received = parcel(in, 0);
  both[0]->send(sent);
  both[1]->receive(received);
  both[1]->wait(received);
  both[0]->wait(sent);
  EXPECT_EQ(in, out);
  EXPECT_LT(Clock::now(), soon);
  char byte = 0;
  EXPECT_TRUE(await(silent[0].get(), POLLIN, soon)) << "the oldest makes room";
  EXPECT_EQ(recv(silent[0].get(), &byte, 1, MSG_DONTWAIT), 0);
}

/// Those that have to wait, since all places are taken by hosts of the job, cost no processor.
TEST(PostOfficeTest, CallersThatWaitAreNotWaitedForBusily) {
  const auto both = offices(2);
  std::vector<Descriptor> silent;
  for (int i = 0; i < 100; ++i)
    silent.push_back(call_from("127.0.0.1", static_cast<uint16_t>(both[1]->member(1).port)));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const std::clock_t before = std::clock();  // of all threads
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC, 0.2);
}

/// Nobody is left to write into memory that its owner takes back.
// Those of the sanitizers end the program where memory is lacking.
#if !ROBUSTA_ADDRESS_SANITIZER && !ROBUSTA_THREAD_SANITIZER
TEST(PostOfficeTest, AMessageThatFindsNoMemory) {
  int overcommits = 0;
  std::ifstream("/proc/sys/vm/overcommit_memory") >> overcommits;
  if (overcommits == 1) GTEST_SKIP() << "this system promises any memory";
  const size_t bytes = size_t{1} << 39;
  void* const pages = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  const auto both = offices(2);
  Parcel sent{static_cast<std::byte*>(pages), bytes, 1, 5, false, false};
  both[0]->send(sent);
  std::vector<std::byte> in(1);
  Parcel other = parcel(in, 0, 6);
  both[1]->receive(other);
  const Error error = error_of([&] { both[1]->wait(other); });
  EXPECT_EQ(error.kind(), ErrorKind::kMemory);
  EXPECT_NE(error.cause().find("549755813888 bytes from rank 0 on here"), std::string::npos) << error.cause();
  munmap(pages, bytes);
}
#endif

TEST(PostOfficeTest, EndsWithMessagesUnderWay) {
  auto both = offices(2);
  std::vector<std::byte> out = text_of(50'000'000, 9), in(50'000'000);
  Parcel sent = parcel(out, 1), received = parcel(in, 0);
  both[1]->receive(received);
  both[0]->send(sent);
  both.clear();
}

TEST(PostOfficeTest, MemoryIsSharedWithinAHost) {
  const auto all = offices(3);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      Circle circle{all[static_cast<size_t>(rank)], {0, 1, 2}, rank, 2};
      SocketCommunicator ranks(std::move(circle));
      const auto memory = ranks.allocate(10'000);
      static_cast<int*>(memory->data())[2000] = rank + 1;
      ranks.barrier();
      for (int peer = 0; peer < 3; ++peer) EXPECT_EQ(static_cast<int*>(memory->peer(peer))[2000], peer + 1);
      EXPECT_EQ(static_cast<int*>(memory->data())[1], 0);
      ranks.barrier();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(PostOfficeTest, AGenerationEndsForAllThatWait) {
  const auto both = offices(2, PostOffice::Loss::kEndsTheGeneration);
  std::vector<std::byte> in(8);
  Parcel received = parcel(in, 0);
  both[1]->receive(received);
  std::thread breaking([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    both[1]->break_off("rank 0 has died");
  });
  try {
    both[1]->wait(received);
    ADD_FAILURE() << "the message that nobody sent is there";
  } catch (const EndOfGeneration& end) {
    EXPECT_EQ(end.kind(), EndOfGeneration::Kind::kFault);
    EXPECT_STREQ(end.what(), "rank 0 has died");
  }
  breaking.join();
  EXPECT_THROW(both[1]->check(), EndOfGeneration);
  EXPECT_NO_THROW(both[0]->check());
}

/// Where nobody watches the ranks yet, too, and although nothing is on its way to the one that is gone.
TEST(PostOfficeTest, AGenerationEndsWithAnyOfItsRanks) {
  auto both = offices(2, PostOffice::Loss::kEndsTheGeneration);
  std::vector<std::byte> out(8), in(8);
  Parcel sent = parcel(out, 0), received = parcel(in, 0);
  both[1]->send(sent);
  both[1]->wait(sent);
  std::thread going([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    both[0].reset();
  });
  both[1]->receive(received);
  const auto begin = Clock::now();
  EXPECT_THROW(both[1]->wait(received), EndOfGeneration);
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(5));
  going.join();
}

TEST(PostOfficeTest, RanksThatDoNotReachEachOtherInTimeAreNoGeneration) {
  const auto both = offices(2, PostOffice::Loss::kEndsTheGeneration);
  std::vector<std::byte> in(8);
  Parcel received = parcel(in, 0);
  both[1]->receive(received);
  both[1]->break_off_at(Clock::now() + std::chrono::milliseconds(100));
  EXPECT_THROW(both[1]->wait(received), EndOfGeneration);
}

TEST(PostOfficeTest, WhoComesNextListensAtTheSamePlace) {
  auto first = offices(2, PostOffice::Loss::kEndsTheGeneration);
  const Member place = first[1]->member(1);
  const Descriptor listener = first[1]->take_listener();
  sockaddr_in at{};
  socklen_t bytes = sizeof at;
  ASSERT_EQ(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&at), &bytes), 0);
  EXPECT_EQ(ntohs(at.sin_port), place.port);
}

}  // namespace robusta::test::post_office_test
