// Ranks meet over sockets, in threads of this process: all come, or all hear why not.
#include "comm/sockets/meeting.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/str.h"
#include "comm/launch.h"
#include "robusta/error.h"
#include "support/errors.h"

namespace robusta::test::meeting_test {
namespace {

using namespace sockets;

uint16_t free_port() {
  uint16_t port = 0;
  const Descriptor listener = listen_at(resolve("127.0.0.1"), port);
  return port;
}

struct Outcome {
  std::optional<Company> company;
  std::string error;
};

/// What each of these ranks hears, that all begin at once.
std::vector<Outcome> meet_all(const std::vector<Meeting>& meetings) {
  std::vector<Outcome> outcomes(meetings.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < meetings.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        outcomes[i].company = meet(meetings[i]);
      } catch (const Error& error) {
        outcomes[i].error = error.cause();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

std::vector<Meeting> meetings_of(const std::vector<int>& ranks, int size, double seconds = 30) {
  const uint16_t port = free_port();
  std::vector<Meeting> meetings;
  for (const int rank : ranks) meetings.push_back({rank, size, "127.0.0.1", port, "secret", seconds});
  return meetings;
}

}  // namespace

TEST(MeetingTest, ANameThatNobodyKnowsIsWaitedFor) {
  for (const int rank : {0, 1}) {
    std::vector<Meeting> meetings = meetings_of({rank}, 2, 0.5);
    meetings[0].host = "no-such-host.invalid";
    const auto begin = Clock::now();
    const std::vector<Outcome> outcomes = meet_all(meetings);
    EXPECT_GE(Clock::now() - begin, std::chrono::milliseconds(500));
    EXPECT_NE(outcomes[0].error.find("no IPv4 address of host \"no-such-host.invalid\""), std::string::npos)
        << outcomes[0].error;
  }
}

TEST(MeetingTest, AllComeAndKnowEachOther) {
  const std::vector<Outcome> outcomes = meet_all(meetings_of({2, 0, 1, 3}, 4));
  const Company& first = *outcomes[1].company;
  for (const Outcome& outcome : outcomes) {
    ASSERT_TRUE(outcome.company) << outcome.error;
    EXPECT_EQ(outcome.company->token, first.token);
    ASSERT_EQ(outcome.company->members.size(), 4u);
    EXPECT_EQ(std::memcmp(outcome.company->members.data(), first.members.data(), 4 * sizeof(Member)), 0);
  }
  EXPECT_EQ(outcomes[0].company->rank, 2);
  EXPECT_NE(first.token, Token{});
  EXPECT_NE(first.members[1].port, first.members[2].port);
}

TEST(MeetingTest, WhoDoesNotComeIsNamedEverywhere) {
  const std::vector<Outcome> outcomes = meet_all(meetings_of({0, 2, 4}, 5, 0.6));
  for (const Outcome& outcome : outcomes) {
    EXPECT_TRUE(contains(outcome.error, "ranks 1, 3 of 5 did not come")) << outcome.error;
  }
}

TEST(MeetingTest, WithoutTheFirstNobodyWaitsForEver) {
  const std::vector<Outcome> outcomes = meet_all(meetings_of({1}, 2, 0.4));
  EXPECT_TRUE(contains(outcomes[0].error, "rank 1 does not reach rank 0 at 127.0.0.1:")) << outcomes[0].error;
}

TEST(MeetingTest, StrangersAreNoRanks) {
  std::vector<Meeting> meetings = meetings_of({0, 1}, 2, 0.6);
  meetings[1].secret = "guess";
  const std::vector<Outcome> outcomes = meet_all(meetings);
  EXPECT_TRUE(contains(outcomes[0].error, "rank 1 of 2 did not come")) << outcomes[0].error;
  EXPECT_TRUE(contains(outcomes[1].error, "gives rank 1 no answer")) << outcomes[1].error;
}

TEST(MeetingTest, OneNumberIsOneRank) {
  const std::vector<Outcome> outcomes = meet_all(meetings_of({0, 1, 1}, 3, 5));
  for (const Outcome& outcome : outcomes) {
    EXPECT_TRUE(contains(outcome.error, "two processes say that they are rank 1")) << outcome.error;
  }
}

TEST(MeetingTest, AllHaveToMeanTheSameJob) {
  std::vector<Meeting> meetings = meetings_of({0, 1}, 2, 5);
  meetings[1].ranks = 3;
  for (const Outcome& outcome : meet_all(meetings)) {
    EXPECT_TRUE(contains(outcome.error, "is one of 3 ranks, and rank 0 of 2")) << outcome.error;
  }
}

/// Callers that say nothing, or nonsense, while the ranks come.
TEST(MeetingTest, NoiseKeepsNobodyOut) {
  const std::vector<Meeting> meetings = meetings_of({0, 1}, 2);
  std::vector<Descriptor> noise;
  std::thread caller([&] {
    for (int i = 0; i < 40; ++i) {
      noise.push_back(begin_connect(resolve("127.0.0.1"), meetings[0].port));
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      const std::string words(1000, static_cast<char>(i));
      if (i % 2) send_all(noise.back().get(), words.data(), words.size(), Clock::now());
    }
  });
  const std::vector<Outcome> outcomes = meet_all(meetings);
  caller.join();
  for (const Outcome& outcome : outcomes) EXPECT_TRUE(outcome.company) << outcome.error;
}

TEST(MeetingTest, ManyThatAreMissingAreCounted) {
  EXPECT_EQ(some_of({3}), "rank 3");
  EXPECT_EQ(some_of({3, 5}), "ranks 3, 5");
  EXPECT_EQ(some_of({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}), "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 2 others");
}

}  // namespace robusta::test::meeting_test
