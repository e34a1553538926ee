// The log of a job over ranks has the lines by which scripts for IBM's Caffe find their way, in its words and spacing.
// The expressions are written after quoted logs of caffe-ibm with DDL, not after ours.

#include <gtest/gtest.h>

#include <regex>
#include <sstream>

#include "solver/process.h"
#include "solver/toy_solver.h"
#include "support/errors.h"
#include "support/files.h"

namespace robusta::test::ibm_log_test {
namespace {

class IbmLog : public testing::Test {
 protected:
  /// Two ranks, each with a GPU of its own, as `-gpu 0` means under MPI.
  Finished train(const std::string& ddl) {
    write_file(folder_ / "solver.prototxt",
               "base_lr: 0.01 lr_policy: 'fixed' max_iter: 4 display: 2 test_iter: 1 test_interval: 2 random_seed: 1 "
               "snapshot_prefix: 'toy'\n" +
                   kToyNet);
    return run_ranks(folder_.path(), 2, "train -solver solver.prototxt -gpu 0 -bvlc -ddl '" + ddl + "'",
                     "env ROBUSTA_SIM_GPUS=2:64M " + tools_dir() + "/caffe");
  }

  TempDir folder_;
};

/// The lines of a log that are the prefix of glog, file and line, and then `text`.
std::vector<std::string> lines_with(const std::string& log, const std::string& text) {
  const std::regex line_form(R"([IWEF]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ \w+\.cpp:\d+\] )" + text);
  std::vector<std::string> found;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_match(line, line_form)) found.push_back(line);
  }
  return found;
}

struct Expected {
  const char* text;
  size_t times;
};

TEST_F(IbmLog, TellsWhatIbmsTells) {
  if (const std::string why = no_processes_as_ranks(); !why.empty()) GTEST_SKIP() << why;
  const Finished done = train("-mode b:2x1 -dev_sync 1");
  ASSERT_EQ(done.code, 0) << done.log;
  const Expected expected[] = {
      {R"(\[MPI:0   \] spreading GPUs per MPI rank)", 1},
      {R"(\[MPI:0   \]    use gpu\[0\])", 1},
      {R"(\[MPI:1   \]    use gpu\[1\])", 1},
      {R"(Using GPUs 0)", 1},
      {R"(GPU 0: \S.*)", 1},
      {R"(\[MPI:0   \]  name = [^ ,]+ root = 1\b.*)", 1},
      {R"(\[MPI:1   \]  name = [^ ,]+ root = 1\b.*)", 1},
      {R"(Iteration 4, loss = \d+(\.\d+)?)", 1},
      {R"(Optimization Done\.)", 2},
      {R"(\[MPI:0   \] MPI_Finalize)", 1},
      // These by rank 0 alone.
      {R"(Initializing solver from parameters: *)", 1},
      {R"( +Test net output #0: \w+ = .*)", 3},
      {R"(Iteration [02], lr = 0\.01)", 2},
  };
  for (const Expected& line : expected) {
    EXPECT_EQ(lines_with(done.log, line.text).size(), line.times) << line.text << " in\n" << done.log;
  }
  EXPECT_LT(done.log.find("Optimization Done."), done.log.find("MPI_Finalize"));
}

TEST_F(IbmLog, RefusesDimsInIbmsWords) {
  if (const std::string why = no_processes_as_ranks(); !why.empty()) GTEST_SKIP() << why;
  const Finished done = train("-mode n:4x1x1 -dev_sync 1");
  EXPECT_NE(done.code, 0);
  EXPECT_TRUE(matches(done.log, R"(invalid dim size=\d+ usr_size=\d+ dim\[0\]=4)")) << done.log;
}

}  // namespace
}  // namespace robusta::test::ibm_log_test
