// Ranks that come and go find each other, in threads of this process, each of which stands for a process: who dies
// closes its listener, and who is silent keeps it open and says nothing.
#include <gtest/gtest.h>
#include <unistd.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "comm/elastic/arrival.h"
#include "comm/elastic/door.h"
#include "comm/elastic/reunion.h"
#include "comm/liveness/messages.h"
#include "robusta/error.h"

namespace robusta::test::elastic_test {
namespace {

using namespace elastic;

constexpr std::chrono::milliseconds kBrief{20};
constexpr Reunion::Times kShort{.answer = 0.5, .come = 0.6, .silent = 0.2};

uint16_t free_port() {
  uint16_t port = 0;
  const Descriptor listener = sockets::listen_at(sockets::resolve("127.0.0.1"), port);
  return port;
}

Standing standing(int rank, int ranks, uint16_t port, ElasticBounds bounds = {1, 16}) {
  Standing result;
  result.bounds = bounds;
  result.secret = "secret";
  result.meeting_host = "127.0.0.1";
  result.meeting_port = port;
  result.launch_rank = rank;
  result.launch_ranks = ranks;
  result.meeting_seconds = 20;
  return result;
}

/// A member of a generation, or one to be.
struct Process {
  explicit Process(Standing its) : standing(std::move(its)), door(standing) {}

  void listen(const std::string& host) {
    uint16_t port = 0;
    own = sockets::listen_at(sockets::resolve("127.0.0.1"), port);
    standing.self.address = sockets::resolve("127.0.0.1");
    standing.self.port = port;
    robusta::liveness::copy_text(standing.self.host, host);
  }

  void come_back(int64_t progress, const Blame& blame = {}, const Reunion::Times& times = kShort) {
    const std::function<std::vector<int>()> open_door = [this] { return door.open(); };
    end = Reunion(standing, last, blame, door.gathering(), own.get(), open_door, times).run(progress);
  }
  void arrive() {
    try {
      ArrivalEnd arrived = Arrival(standing, own, office, {}).run();
      end.admission = arrived.admission;
      if (!arrived.admission) end.job_code = arrived.job_code;
    } catch (const Error& error) {
      end.why = error.cause();
    }
  }

  int rank() const { return end.admission ? end.admission->rank : -1; }
  int ranks() const { return end.admission ? static_cast<int>(end.admission->members.size()) : -1; }

  Standing standing;
  Door door;
  Descriptor own, office;
  Admission last;
  ReunionEnd end;
};

/// A generation that has just ended; hosts have two ranks each.
class ElasticTest : public testing::Test {
 protected:
  void make(int ranks, ElasticBounds bounds = {1, 16}) {
    Admission last;
    last.token = robusta::liveness::draw_token();
    last.generation = 5;
    for (int rank = 0; rank < ranks; ++rank) {
      Process& process = processes.emplace_back(standing(rank, ranks, port, bounds));
      process.listen("node" + std::to_string(rank / 2));
      process.standing.job = "job";
      process.standing.generation = 5;
      last.members.push_back(process.standing.self);
    }
    for (int rank = 0; rank < ranks; ++rank) {
      processes[static_cast<size_t>(rank)].last = last;
      processes[static_cast<size_t>(rank)].last.rank = rank;
    }
  }
  Process& operator[](int rank) { return processes[static_cast<size_t>(rank)]; }
  void kill(int rank) { (*this)[rank].own = Descriptor(); }

  void at_once(const std::vector<std::function<void()>>& all) {
    std::vector<std::thread> threads;
    for (const auto& one : all) threads.emplace_back(one);
    for (std::thread& thread : threads) thread.join();
  }
  /// All of them come back with these states, the newest being the largest.
  void come_back(const std::vector<std::pair<int, int64_t>>& who, const Blame& blame = {}) {
    std::vector<std::function<void()>> all;
    for (const auto& [rank, progress] : who) {
      all.emplace_back([this, rank = rank, progress = progress, &blame] { (*this)[rank].come_back(progress, blame); });
    }
    at_once(all);
  }

  const uint16_t port = free_port();
  std::deque<Process> processes;
};

}  // namespace

TEST(SeatsTest, AsManyAsThereMayBeAndAsDivideTheBatch) {
  EXPECT_EQ(seats(7, {2, 8}, 0), 7);
  EXPECT_EQ(seats(9, {2, 8}, 0), 8);
  EXPECT_EQ(seats(7, {2, 8}, 64), 4);
  EXPECT_EQ(seats(1, {2, 8}, 0), 0);
  EXPECT_EQ(seats(3, {3, 8}, 64), 0) << "two could train, and three are the fewest";
}

TEST(LedgerTest, AHostThatFlapsIsKeptOutForGood) {
  Ledger ledger(100);
  EXPECT_FALSE(ledger.note("a", 0));
  EXPECT_FALSE(ledger.note("b", 1));
  EXPECT_FALSE(ledger.note("a", 10));
  EXPECT_FALSE(ledger.keeps_out("a"));
  EXPECT_TRUE(ledger.note("a", 20));
  EXPECT_TRUE(ledger.keeps_out("a"));
  EXPECT_FALSE(ledger.keeps_out("b"));
  Ledger other(100);
  other.take_over(ledger.losses(5000), 70);
  EXPECT_TRUE(other.keeps_out("a")) << "others hear of it, and it is not forgotten";
}

TEST(LedgerTest, OldLossesAreForgiven) {
  Ledger ledger(100);
  EXPECT_FALSE(ledger.note("a", 0));
  EXPECT_FALSE(ledger.note("a", 50));
  EXPECT_FALSE(ledger.note("a", 120));
  Ledger other(100);
  other.take_over(ledger.losses(130), 1000);  // of another clock: the losses are 80 and 10 seconds old
  EXPECT_TRUE(other.note("a", 1001));
}

TEST_F(ElasticTest, TheDeadAreNotWaitedFor) {
  make(4);
  kill(2);
  const auto began = Clock::now();
  come_back({{0, 7}, {1, 7}, {3, 7}});
  EXPECT_LT(Clock::now() - began, std::chrono::milliseconds(500));
  EXPECT_EQ((*this)[0].rank(), 0);
  EXPECT_EQ((*this)[1].rank(), 1);
  EXPECT_EQ((*this)[3].rank(), 2);
  for (const int rank : {0, 1, 3}) {
    ASSERT_EQ((*this)[rank].ranks(), 3);
    EXPECT_EQ((*this)[rank].end.admission->generation, 6);
    EXPECT_EQ((*this)[rank].end.admission->token, (*this)[0].end.admission->token);
    ASSERT_EQ((*this)[rank].end.admission->losses.size(), 1u);
    EXPECT_STREQ((*this)[rank].end.admission->losses[0].host, "node1");
  }
}

TEST_F(ElasticTest, TheFirstRankMayDie) {
  make(3);
  kill(0);
  come_back({{1, 7}, {2, 7}});
  EXPECT_EQ((*this)[1].rank(), 0);
  EXPECT_EQ((*this)[2].rank(), 1);
}

TEST_F(ElasticTest, AllButOneMayDieAtOnce) {
  make(4);
  for (const int rank : {0, 1, 3}) kill(rank);
  come_back({{2, 7}});
  EXPECT_EQ((*this)[2].rank(), 0);
  EXPECT_EQ((*this)[2].ranks(), 1);
}

/// A process that was stopped for so long that all others have been replaced.
TEST_F(ElasticTest, WhoFindsAllOthersGoneAsksWhetherTheJobRunsElsewhere) {
  make(3);
  Process other(standing(7, 3, port));
  other.listen("node9");
  other.standing.job = "job";
  other.door.start({});
  for (const int rank : {0, 1}) kill(rank);
  come_back({{2, 7}});
  EXPECT_EQ((*this)[2].rank(), -1);
  EXPECT_EQ((*this)[2].end.why, "the job runs elsewhere");
  EXPECT_EQ((*this)[2].end.place.port, port);
}

TEST_F(ElasticTest, TheNewestStateIsThatOfTheFirst) {
  make(4);
  kill(3);
  come_back({{0, 7}, {1, 8}, {2, 8}});
  EXPECT_EQ((*this)[1].rank(), 0);
  EXPECT_EQ((*this)[2].rank(), 1);
  EXPECT_EQ((*this)[0].rank(), 2);
}

TEST_F(ElasticTest, OfATornNetworkTheGreaterPartGoesOn) {
  make(6);
  const Blame blame{.rank = 4, .silent = true, .line = "silent"};
  come_back({{0, 7}, {1, 7}, {2, 7}, {3, 7}}, blame);  // 4 and 5 do not answer, and their listeners stay
  EXPECT_EQ((*this)[3].rank(), 3);
  EXPECT_EQ((*this)[3].ranks(), 4);
}

TEST_F(ElasticTest, OfATornNetworkTheSmallerPartDoesNotGoOn) {
  make(6);
  const Blame blame{.rank = 0, .silent = true, .line = "silent"};
  come_back({{4, 7}, {5, 7}}, blame);
  EXPECT_EQ((*this)[4].rank(), -1);
  EXPECT_EQ((*this)[5].rank(), -1);
  EXPECT_NE((*this)[4].end.why.find("reaches 2 of 6 ranks"), std::string::npos) << (*this)[4].end.why;
}

TEST_F(ElasticTest, OfTwoHalvesThatWithTheLowestRankGoesOn) {
  make(4);
  come_back({{0, 7}, {1, 7}}, {.rank = 2, .silent = true});
  EXPECT_EQ((*this)[0].ranks(), 2);
  EXPECT_EQ((*this)[1].ranks(), 2);
  come_back({{2, 7}, {3, 7}}, {.rank = 0, .silent = true});
  EXPECT_EQ((*this)[2].rank(), -1);
  EXPECT_EQ((*this)[3].rank(), -1);
}

TEST_F(ElasticTest, WhoIsLateIsLeftBehind) {
  make(3);
  come_back({{1, 7}, {2, 7}});  // the lowest is busy
  EXPECT_EQ((*this)[1].rank(), 0);
  come_back({{0, 9}});
  EXPECT_EQ((*this)[0].rank(), -1);
}

TEST_F(ElasticTest, ALateLeaderFollowsWhomTheOthersFollow) {
  make(4);
  std::thread late([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    (*this)[0].come_back(7);
  });
  come_back({{1, 7}, {2, 7}, {3, 7}});
  late.join();
  EXPECT_EQ((*this)[1].ranks(), 4);
  EXPECT_EQ((*this)[0].rank(), 0);
}

TEST_F(ElasticTest, WhoeverIsGivenUpDoesNotComeBackAsIfNothingHadBeen) {
  make(3);
  const Blame blame{.rank = 0, .given_up = true};
  std::thread accused([&] { (*this)[0].come_back(7); });
  come_back({{1, 7}, {2, 7}}, blame);
  accused.join();
  EXPECT_EQ((*this)[1].ranks(), 2);
  EXPECT_EQ((*this)[0].rank(), -1);
}

TEST_F(ElasticTest, WhoWaitsAtTheDoorComesIn) {
  make(2, {1, 3});
  (*this)[0].door.start({});
  std::vector<std::unique_ptr<Process>> newcomers;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    newcomers.push_back(std::make_unique<Process>(standing(7 + i, 2, port)));
    threads.emplace_back([&process = *newcomers.back()] { process.arrive(); });
  }
  const auto deadline = Clock::now() + std::chrono::seconds(20);
  while ((*this)[0].door.waiting() < 2 && Clock::now() < deadline) std::this_thread::sleep_for(kBrief);
  EXPECT_EQ((*this)[0].door.waiting(), 2);
  (*this)[0].door.stop();
  come_back({{0, 7}, {1, 7}});
  EXPECT_EQ((*this)[1].ranks(), 3) << "no more than there may be";
  EXPECT_EQ((*this)[0].door.gathering().callers().size(), 1u) << "the other one stands by";
  (*this)[0].door.gathering().dismiss(job_is_over(0, "done"), [](const auto&) { return true; });
  for (std::thread& thread : threads) thread.join();
  const bool first_in = newcomers[0]->rank() == 2;
  EXPECT_EQ(newcomers[first_in ? 0 : 1]->rank(), 2);
  EXPECT_EQ(newcomers[first_in ? 1 : 0]->end.job_code, 0);
}

TEST_F(ElasticTest, AHostThatFlapsIsTurnedAwayAtTheDoor) {
  make(1);
  Process newcomer(standing(1, 2, port));
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  for (int i = 0; i < 3; ++i) (*this)[0].standing.ledger.note(name, i);
  (*this)[0].door.start({});
  newcomer.arrive();
  EXPECT_NE(newcomer.end.why.find("was lost 3 times"), std::string::npos) << newcomer.end.why;
}

TEST_F(ElasticTest, AJobIsFoundedByAllThatWereStarted) {
  std::vector<std::function<void()>> all;
  for (int rank = 0; rank < 3; ++rank) {
    Process& process = processes.emplace_back(standing(rank, 3, port));
    all.emplace_back([&process] { process.arrive(); });
  }
  at_once(all);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ((*this)[rank].rank(), rank) << (*this)[rank].end.why;
    EXPECT_EQ((*this)[rank].ranks(), 3);
  }
  EXPECT_EQ((*this)[2].end.admission->generation, 1);
  EXPECT_EQ((*this)[2].end.admission->job.size(), 16u);
}

TEST_F(ElasticTest, OrByThoseThatCame) {
  std::vector<std::function<void()>> all;
  for (const int rank : {0, 2}) {
    Standing its = standing(rank, 4, port, {2, 4});
    its.meeting_seconds = 1;
    Process& process = processes.emplace_back(its);
    all.emplace_back([&process] { process.arrive(); });
  }
  at_once(all);
  EXPECT_EQ((*this)[1].rank(), 1) << (*this)[1].end.why;
}

TEST_F(ElasticTest, TooFewFoundNothing) {
  Standing its = standing(0, 4, port, {2, 4});
  its.meeting_seconds = 0.5;
  Process& process = processes.emplace_back(its);
  process.arrive();
  EXPECT_NE(process.end.why.find("only 1 of at least 2 ranks came"), std::string::npos) << process.end.why;
}

TEST_F(ElasticTest, AFounderIsSummonedToTheJobThatRuns) {
  // The one that runs is on a host of its own, and its rank 0 is not where new ones look.
  make(1);
  Process founder(standing(0, 2, port));
  std::thread founding([&] { founder.arrive(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // it has the port by now
  (*this)[0].door.start({});
  const auto deadline = Clock::now() + std::chrono::seconds(20);
  while ((*this)[0].door.waiting() < 1 && Clock::now() < deadline) std::this_thread::sleep_for(kBrief);
  (*this)[0].door.stop();
  (*this)[0].come_back(7);
  founding.join();
  EXPECT_EQ(founder.rank(), 1) << founder.end.why;
  EXPECT_EQ(founder.end.admission ? founder.end.admission->job : "", "job");
}

TEST_F(ElasticTest, WhoDoesNotKnowTheSecretHearsNothing) {
  make(1);
  (*this)[0].door.start({});
  Standing its = standing(1, 2, port);
  its.secret = "guessed";
  its.meeting_seconds = 0.5;
  Process stranger(its);
  stranger.arrive();
  EXPECT_NE(stranger.end.why.find("nobody lets this rank into the job"), std::string::npos) << stranger.end.why;
  EXPECT_EQ((*this)[0].door.waiting(), 0);
}

}  // namespace robusta::test::elastic_test
