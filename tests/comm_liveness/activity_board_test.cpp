#include "comm/liveness/activity_board.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

namespace robusta::test::activity_board_test {
namespace {

using namespace liveness;

TEST(ActivityBoardTest, ReadsWhatWasWritten) {
  ActivityBoard board;
  Sample sample;
  board.read(sample);
  EXPECT_EQ(sample.iteration, -1);
  EXPECT_STREQ(sample.doing, "");
  board.iteration(7);
  board.note("snapshot", Activity::kPausing, 600);
  const uint64_t before = sample.moves;
  board.read(sample);
  EXPECT_EQ(sample.iteration, 7);
  EXPECT_EQ(sample.activity, Activity::kPausing);
  EXPECT_EQ(sample.limit, 600);
  EXPECT_STREQ(sample.doing, "snapshot");
  EXPECT_EQ(sample.moves, before + 2);
}

TEST(ActivityBoardTest, LongNotesAreCut) {
  ActivityBoard board;
  board.note(std::string(200, 'x'), Activity::kComputing, 0);
  Sample sample;
  board.read(sample);
  EXPECT_EQ(std::string(sample.doing), std::string(kDoingBytes - 1, 'x'));
}

TEST(ActivityBoardTest, NotesAreNeverMixed) {
  ActivityBoard board;
  std::atomic<bool> stop{false};
  board.note(std::string(60, 'a'), Activity::kComputing, 'a');
  std::thread writer([&] {
    for (char letter = 'a'; !stop; letter = letter == 'z' ? 'a' : static_cast<char>(letter + 1)) {
      board.note(std::string(60, letter), Activity::kPausing, letter);
    }
  });
  Sample sample;
  for (int i = 0; i < 20000; ++i) {
    board.read(sample);
    if (sample.doing[0] != '\0') {
      ASSERT_EQ(std::string(sample.doing), std::string(60, static_cast<char>(sample.limit)));
    }
  }
  stop = true;
  writer.join();
}

}  // namespace
}  // namespace robusta::test::activity_board_test
