// The order of a pipeline's stages, drawn as the papers draw it.
#include "solver/pipeline/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "support/errors.h"

namespace robusta::test::pipeline_schedule_test {
namespace {

constexpr PipelineOrder kGPipe = PipelineOrder::kGPipe, kOneByOne = PipelineOrder::kOneForwardOneBackward;

/// A row per stage and a letter per unit of time: micro-batch 0 is "A" forward and "a" backward, "." is idle.
std::vector<std::string> drawn(PipelineOrder order, int stages, int micro_batches, StageWork work) {
  const std::vector<StageWork> all(static_cast<size_t>(stages), work);
  const Timetable table = timetable(order, all, micro_batches);
  std::vector<std::string> rows;
  for (const auto& stage : table.stages) {
    std::string& row = rows.emplace_back(static_cast<size_t>(table.length), '.');
    for (const auto& [task, begin, end] : stage) {
      for (double t = begin; t < end; ++t) {
        row[static_cast<size_t>(t)] = static_cast<char>((task.backward ? 'a' : 'A') + task.micro_batch);
      }
    }
  }
  return rows;
}

using Rows = std::vector<std::string>;

/// Huang et al. 2019, figure 2c, with four stages and four micro-batches. Backward goes through them in the order of
/// Narayanan et al. 2021, figure 3.
TEST(PipelineSchedule, GPipeIsThatOfThePaper) {
  EXPECT_EQ(drawn(kGPipe, 4, 4, {1, 1}), (Rows{"ABCD......abcd",  //
                                               ".ABCD....abcd.",  //
                                               "..ABCD..abcd..",  //
                                               "...ABCDabcd..."}));
}

/// Narayanan et al. 2021, figure 3: four devices, eight micro-batches, backward twice as long as forward.
TEST(PipelineSchedule, GPipeWithLongerBackwardIsThatOfThePaper) {
  EXPECT_EQ(drawn(kGPipe, 4, 8, {1, 2}), (Rows{"ABCDEFGH.........aabbccddeeffgghh",  //
                                               ".ABCDEFGH......aabbccddeeffgghh..",  //
                                               "..ABCDEFGH...aabbccddeeffgghh....",  //
                                               "...ABCDEFGHaabbccddeeffgghh......"}));
}

/// Narayanan et al. 2021, figure 4, above.
TEST(PipelineSchedule, OneForwardOneBackwardIsThatOfThePaper) {
  EXPECT_EQ(drawn(kOneByOne, 4, 8, {1, 2}), (Rows{"ABCD......aaEbbFccGddHee.ff.gg.hh",  //
                                                  ".ABC....aaDbbEccFddGeeHff.gg.hh..",  //
                                                  "..AB..aaCbbDccEddFeeGffHgg.hh....",  //
                                                  "...AaaBbbCccDddEeeFffGggHhh......"}));
}

TEST(PipelineSchedule, EachStageTakesEveryMicroBatchOnceEachWayInOrder) {
  for (const PipelineOrder order : {kGPipe, kOneByOne}) {
    for (int stages = 1; stages <= 5; ++stages) {
      for (int micro_batches = 1; micro_batches <= 7; ++micro_batches) {
        for (int stage = 0; stage < stages; ++stage) {
          int forward = 0, backward = 0, most = 0;
          for (const PipelineTask& task : tasks_of_stage(order, stage, stages, micro_batches)) {
            EXPECT_EQ(task.micro_batch, task.backward ? backward : forward);
            (task.backward ? backward : forward) += 1;
            EXPECT_LE(backward, forward);
            most = std::max(most, forward - backward);
          }
          EXPECT_EQ(forward, micro_batches);
          EXPECT_EQ(backward, micro_batches);
          EXPECT_EQ(most, passes_in_flight(order, stage, stages, micro_batches));
        }
      }
    }
  }
}

TEST(PipelineSchedule, ActivationsAreThoseOfAllMicroBatchesOrOfTheStagesThatFollow) {
  EXPECT_EQ(passes_in_flight(kGPipe, 1, 4, 8), 8);
  EXPECT_EQ(passes_in_flight(kOneByOne, 0, 4, 8), 4);
  EXPECT_EQ(passes_in_flight(kOneByOne, 1, 4, 8), 3);
  EXPECT_EQ(passes_in_flight(kOneByOne, 3, 4, 8), 1);
  EXPECT_EQ(passes_in_flight(kOneByOne, 0, 4, 2), 2);
}

/// Huang et al. 2019, section 2.3: (K - 1) / (M + K - 1), whichever the order and however long backward takes.
TEST(PipelineSchedule, TheBubbleOfEqualStagesIsThatOfThePaper) {
  for (const PipelineOrder order : {kGPipe, kOneByOne}) {
    for (const int stages : {1, 2, 4, 8}) {
      for (const int micro_batches : {1, 2, 4, 8, 32}) {
        for (const double backward : {1.0, 2.0, 3.0}) {
          const std::vector<StageWork> work(static_cast<size_t>(stages), {1, backward});
          const Timetable table = timetable(order, work, micro_batches);
          const double predicted = bubble_of_equal_stages(stages, micro_batches);
          EXPECT_NEAR(table.bubble(), predicted, 1e-12) << stages << " stages, " << micro_batches;
          EXPECT_NEAR(table.length, (micro_batches + stages - 1) * (1 + backward), 1e-9);
        }
      }
    }
  }
  EXPECT_DOUBLE_EQ(bubble_of_equal_stages(4, 8), 3.0 / 11);
}

/// Two stages of which the second takes three times as long: the first one waits for it.
TEST(PipelineSchedule, TheSlowestStageSetsThePace) {
  const std::array<StageWork, 2> work{{{1, 1}, {3, 3}}};
  const Timetable table = timetable(kOneByOne, work, 4);
  EXPECT_DOUBLE_EQ(table.length, 1 + 4 * 6 + 1);
  EXPECT_DOUBLE_EQ(table.idle(1), 2.0 / 26);
  EXPECT_DOUBLE_EQ(table.idle(0), 18.0 / 26);
  EXPECT_DOUBLE_EQ(table.bubble(), 10.0 / 26);
}

TEST(PipelineSchedule, OrdersHaveNames) {
  EXPECT_EQ(name_of(pipeline_order_named("gpipe")), "gpipe");
  EXPECT_EQ(name_of(pipeline_order_named("1f1b")), "1f1b");
  const Error error = error_of([] { pipeline_order_named("gpip"); });
  EXPECT_EQ(error.kind(), ErrorKind::kUsage);
  EXPECT_TRUE(contains(error.what(), "gpipe")) << error.what();
}

}  // namespace
}  // namespace robusta::test::pipeline_schedule_test
