// The C interface's ranks: one alone, and processes that meet without a launcher.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <vector>

#include "robusta.h"
#include "support/errors.h"

namespace robusta::test::c_ranks_test {
namespace {

struct Free {
  void operator()(robusta_ranks* ranks) const { robusta_ranks_free(ranks); }
};
using Ranks = std::unique_ptr<robusta_ranks, Free>;

constexpr char kSecret[] = "sixteen letters!";
constexpr int kRanks = 3;

/// One that nobody listens at.
int free_port() {
  const int file = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const general = reinterpret_cast<sockaddr*>(&address);
  const bool known = bind(file, general, size) == 0 && getsockname(file, general, &size) == 0;
  close(file);
  return known ? ntohs(address.sin_port) : 0;
}

/// Runs `body` on so many ranks, each a process of its own; rank 0 is this one.
void on_ranks(const std::function<void(robusta_ranks*)>& body) {
  const int port = free_port();
  const auto join = [&](int rank) {
    robusta_ranks* ranks = nullptr;
    ASSERT_EQ(robusta_ranks_meet(rank, kRanks, "127.0.0.1", port, kSecret, 60, &ranks), 0) << robusta_last_error();
    const Ranks owner(ranks);
    body(ranks);
  };
  std::vector<pid_t> others;
  for (int rank = 1; rank < kRanks; ++rank) {
    others.push_back(fork());
    if (others.back() == 0) {
      join(rank);
      _exit(testing::Test::HasFailure() ? 1 : 0);
    }
  }
  join(0);
  for (const pid_t other : others) {
    int status = 0;
    waitpid(other, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

TEST(CRanksTest, WithoutALauncherThereIsOne) {
  robusta_ranks* made = nullptr;
  ASSERT_EQ(robusta_ranks_world(&made), 0) << robusta_last_error();
  const Ranks ranks(made);
  EXPECT_EQ(robusta_ranks_rank(made), 0);
  EXPECT_EQ(robusta_ranks_size(made), 1);
  EXPECT_EQ(robusta_ranks_local_rank(made), 0);
  EXPECT_EQ(robusta_ranks_local_size(made), 1);
  EXPECT_STRNE(robusta_ranks_host(made), "");
  float number = 3;
  EXPECT_EQ(robusta_ranks_all_reduce(made, &number, 1), 0);
  EXPECT_EQ(number, 3);
  EXPECT_EQ(robusta_ranks_barrier(made), 0);
}

TEST(CRanksTest, SumsAndCopies) {
  on_ranks([](robusta_ranks* ranks) {
    const int rank = robusta_ranks_rank(ranks);
    EXPECT_EQ(robusta_ranks_size(ranks), kRanks);
    EXPECT_EQ(robusta_ranks_local_rank(ranks), rank);
    EXPECT_EQ(robusta_ranks_local_size(ranks), kRanks);
    EXPECT_EQ(robusta_ranks_barrier(ranks), 0);

    std::vector<float> first{static_cast<float>(rank), 1}, none, last{static_cast<float>(10 * rank)};
    float* const arrays[] = {first.data(), none.data(), last.data()};
    const size_t counts[] = {first.size(), 0, last.size()};
    EXPECT_EQ(robusta_ranks_all_reduce_n(ranks, 3, arrays, counts), 0) << robusta_last_error();
    EXPECT_EQ(first, (std::vector<float>{0 + 1 + 2, 3}));
    EXPECT_EQ(last, (std::vector<float>{30}));

    double precise = rank + 1e-12;
    EXPECT_EQ(robusta_ranks_all_reduce_doubles(ranks, &precise, 1), 0);
    EXPECT_DOUBLE_EQ(precise, 3 + 3e-12);

    char text[] = "rank 0";
    text[5] = static_cast<char>('0' + rank);
    EXPECT_EQ(robusta_ranks_broadcast(ranks, text, sizeof text, 2), 0);
    EXPECT_STREQ(text, "rank 2");
  });
}

TEST(CRanksTest, WhatCannotBeIsAnErrorOfUsage) {
  robusta_ranks* made = nullptr;
  EXPECT_EQ(robusta_ranks_meet(2, 2, "127.0.0.1", 1, kSecret, 1, &made), 1);
  EXPECT_TRUE(contains(robusta_last_error(), "rank 2 of 2"));
  EXPECT_EQ(robusta_ranks_meet(0, 2, "127.0.0.1", 65536, kSecret, 1, &made), 1);
  EXPECT_EQ(robusta_ranks_meet(0, 2, "127.0.0.1", 1, "short", 1, &made), 1);
  EXPECT_EQ(robusta_ranks_meet(0, 2, nullptr, 1, kSecret, 1, &made), 1);
  EXPECT_EQ(made, nullptr);
  EXPECT_EQ(robusta_ranks_barrier(nullptr), 1);
  EXPECT_EQ(robusta_ranks_rank(nullptr), -1);

  ASSERT_EQ(robusta_ranks_world(&made), 0);
  const Ranks ranks(made);
  EXPECT_EQ(robusta_ranks_broadcast(made, nullptr, 0, 1), 1) << "there is no rank 1";
  EXPECT_EQ(robusta_ranks_all_reduce(made, nullptr, 2), 1);
  EXPECT_EQ(robusta_ranks_all_reduce_n(made, 0, nullptr, nullptr), 1);
}

TEST(CRanksTest, WhoDoesNotComeIsAnErrorOfCommunication) {
  robusta_ranks* made = nullptr;
  EXPECT_EQ(robusta_ranks_meet(0, 2, "127.0.0.1", free_port(), kSecret, 0.2, &made), 8);
  EXPECT_EQ(made, nullptr);
}

}  // namespace
}  // namespace robusta::test::c_ranks_test
