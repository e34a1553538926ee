// Which hosts have too much to run, as a tree of ranks tells it, under a clock that the tests drive.
#include "comm/liveness/overload.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "comm/liveness/messages.h"
#include "support/errors.h"

namespace robusta::test::overload_test {
namespace {

using namespace liveness;

/// `hosts` x `per_host` ranks, each of which waits for a processor for a share of its time.
class LoadedJob {
 public:
  LoadedJob(int hosts, int per_host) : waiting(static_cast<size_t>(hosts * per_host)) {
    IdVector<RankId, std::string> names;
    for (int rank = 0; rank < hosts * per_host; ++rank) names.push_back("node" + std::to_string(rank / per_host + 1));
    for (const RankId rank : names.ids()) {
      Contact contact;
      copy_text(contact.host, names[rank]);
      roster_.push_back(contact);
      parents_.push_back(find_neighbours(names, rank).parent);
      states_.emplace_back(rank, find_neighbours(names, rank), 60);
    }
    starved_.resize(waiting.size());
  }

  /// The warnings of rank 0 meanwhile.
  std::vector<std::string> run(double seconds) {
    std::vector<std::string> warnings;
    for (const double end = now_ + seconds; now_ < end; ++now_) {
      for (size_t i = 0; i < states_.size(); ++i) {
        states_[i].sample(starved_[i] += waiting[i], now_);
        if (i == 0) {
          if (const auto warning = states_[0].take_warning(roster_, now_)) warnings.push_back(*warning);
        } else if (const auto report = states_[i].take_report(now_)) {
          states_[parents_[i].index()].hear(RankId(i), *report, now_);
        }
      }
    }
    return warnings;
  }

  std::vector<double> waiting;

 private:
  Roster roster_;
  std::vector<RankId> parents_;
  std::vector<Overload> states_;
  std::vector<double> starved_;
  double now_ = 1000;
};

TEST(OverloadTest, HostsWithRoomAreNotMentioned) {
  LoadedJob job(3, 2);
  for (double& waiting : job.waiting) waiting = 0.4;
  EXPECT_TRUE(job.run(1000).empty());
}

TEST(OverloadTest, TheWarningNamesHostsAndHowMuchTheyWait) {
  LoadedJob job(3, 2);
  job.waiting = {0.1, 0.2, 0.6, 0.7, 0.3, 0.3};
  const auto warnings = job.run(200);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_TRUE(contains(warnings[0], "in the last 60 s")) << warnings[0];
  EXPECT_TRUE(contains(warnings[0], ": node2 (rank 3: 70 %). ")) << warnings[0];
}

TEST(OverloadTest, ItIsRepeatedAsLongAsItLasts) {
  LoadedJob job(2, 8);
  for (double& waiting : job.waiting) waiting = 0.9;
  EXPECT_EQ(job.run(601).size(), 2u) << "at the ends of the first minute and of the sixth";
  EXPECT_EQ(job.run(300).size(), 1u);
  for (double& waiting : job.waiting) waiting = 0;
  EXPECT_EQ(job.run(130).size(), 0u);
  EXPECT_TRUE(job.run(1000).empty());
}

TEST(OverloadTest, OfManyHostsTheWorstAreNamedAndTheOthersCounted) {
  LoadedJob job(40, 1);  // a tree of three levels
  for (size_t rank = 0; rank < job.waiting.size(); ++rank) job.waiting[rank] = 0.51 + 0.01 * static_cast<double>(rank);
  const auto warnings = job.run(400);
  ASSERT_FALSE(warnings.empty());
  const std::string& last = warnings.back();
  EXPECT_TRUE(contains(last,
                       "node40 (rank 39: 90 %), node39 (rank 38: 89 %), node38 (rank 37: 88 %), "
                       "node37 (rank 36: 87 %) and 36 more hosts"))
      << last;
}

TEST(OverloadTest, WhatCannotBeMeantIsNotTaken) {
  LoadReport report;
  EXPECT_TRUE(is_sane(report, 4));
  report.hosts = 1;
  EXPECT_FALSE(is_sane(report, 4)) << "of no rank";
  report.worst[0] = {RankId(3), 0.7f};
  EXPECT_TRUE(is_sane(report, 4));
  report.worst[0].rank = RankId(4);
  EXPECT_FALSE(is_sane(report, 4));
  for (const float waiting : {-0.1f, 1.1f, NAN, INFINITY}) {
    report.worst[0] = {RankId(3), waiting};
    EXPECT_FALSE(is_sane(report, 4)) << waiting;
  }
  for (const int hosts : {-1, 5}) {
    report.worst.fill({RankId(1), 0.7f});
    report.hosts = hosts;
    EXPECT_FALSE(is_sane(report, 4)) << hosts;
  }
}

}  // namespace
}  // namespace robusta::test::overload_test
