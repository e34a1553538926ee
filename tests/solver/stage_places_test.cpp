// Which rank has which stage.
#include "solver/ranks/stage_places.h"

#include <gtest/gtest.h>

namespace robusta::test::stage_places_test {
namespace {

/// "0 1 | 2 3": the ranks of each stage, pipeline after pipeline.
std::string text_of(const std::vector<std::string>& hosts, int stages) {
  const StagePlaces places(hosts, stages);
  std::string text;
  for (int stage = 0; stage < stages; ++stage) {
    text += stage > 0 ? " |" : "";
    for (int p = 0; p < places.pipelines(); ++p) {
      const int rank = places.rank_of(stage, p);
      EXPECT_EQ(places.stage_of(rank), stage);
      EXPECT_EQ(places.pipeline_of(rank), p);
      text += (text.empty() ? "" : " ") + std::to_string(rank);
    }
  }
  return text;
}

TEST(StagePlaces, RanksOfOneStageAreOnOneHost) {
  EXPECT_EQ(text_of({"a", "a"}, 2), "0 | 1");
  EXPECT_EQ(text_of({"a", "a", "a", "a"}, 2), "0 1 | 2 3");
  EXPECT_EQ(text_of({"a", "a", "b", "b"}, 2), "0 1 | 2 3");
  // As rank files place them, those of a host lie apart.
  EXPECT_EQ(text_of({"a", "b", "a", "b"}, 2), "0 2 | 1 3");
  EXPECT_EQ(text_of({"a", "b", "a", "b"}, 4), "0 | 2 | 1 | 3");
  EXPECT_EQ(text_of({"b", "a", "b", "a", "c", "c"}, 3), "0 2 | 1 3 | 4 5");
}

TEST(StagePlaces, RankZeroHasTheFirstStageWhateverTheHosts) {
  EXPECT_EQ(text_of({"z", "a", "a", "z", "z", "a"}, 2), "0 3 4 | 1 2 5");
  EXPECT_EQ(text_of({"z", "a", "a"}, 3), "0 | 1 | 2");
}

}  // namespace
}  // namespace robusta::test::stage_places_test
