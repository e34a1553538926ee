#include "comm/liveness/exit_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <thread>
#include <vector>

#include "support/files.h"

namespace robusta::test::exit_file_test {
namespace {

struct ExitFileTest : testing::Test {
  ExitFileTest() { setenv("ROBUSTA_EXIT_FILE", path.c_str(), 1); }
  ~ExitFileTest() override { unsetenv("ROBUSTA_EXIT_FILE"); }
  TempDir folder;
  const std::string path = folder / "exit";
};

TEST_F(ExitFileTest, FirstOneWritesOneLine) {
  EXPECT_TRUE(write_exit_file(6, 3, "the loss is not finite\n  second line"));
  EXPECT_FALSE(write_exit_file(8, 1, "rank 3 has died"));
  EXPECT_EQ(read_file(path), "6 3 the loss is not finite\n");
}

TEST_F(ExitFileTest, OneOfManyWins) {
  std::vector<int> wrote(8);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 8; ++rank) {
    threads.emplace_back([&wrote, rank] { wrote[static_cast<size_t>(rank)] = write_exit_file(8, rank, "gone"); });
  }
  for (auto& thread : threads) thread.join();
  int winner = -1, winners = 0;
  for (int rank = 0; rank < 8; ++rank) {
    if (wrote[static_cast<size_t>(rank)]) winner = rank, ++winners;
  }
  EXPECT_EQ(winners, 1);
  EXPECT_EQ(read_file(path), "8 " + std::to_string(winner) + " gone\n");
  const auto left = std::distance(std::filesystem::directory_iterator(folder.path()), {});
  EXPECT_EQ(left, 1) << "temporary files are left";
}

TEST_F(ExitFileTest, NothingWithoutTheVariable) {
  unsetenv("ROBUSTA_EXIT_FILE");
  EXPECT_FALSE(write_exit_file(8, 0, "gone"));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(ExitFileTest, AFolderThatIsNotThereIsNoError) {
  setenv("ROBUSTA_EXIT_FILE", (folder / "no/exit").c_str(), 1);
  EXPECT_FALSE(write_exit_file(8, 0, "gone"));
}

}  // namespace
}  // namespace robusta::test::exit_file_test
