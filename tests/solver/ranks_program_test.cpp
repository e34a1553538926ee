// The program `caffe` as several ranks under mpirun: what it says, once, and what it does for all.
#include <gtest/gtest.h>

#include <iterator>
#include <sstream>

#include "solver/process.h"
#include "solver/toy_solver.h"
#include "support/errors.h"

namespace robusta::test {
namespace {

/// A folder with a net and a solver for it.
class CaffeRanks : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = no_processes_as_ranks(); !why.empty()) GTEST_SKIP() << why;
    const std::string net = kToyNet.substr(kToyNet.find('{') + 1);
    write_file(folder_ / "net.prototxt", net.substr(0, net.rfind('}')));
    write_file(
        folder_ / "solver.prototxt",
        "net: 'net.prototxt' base_lr: 0.01 lr_policy: 'fixed' random_seed: 1 snapshot_prefix: 'toy' max_iter: 4");
  }
  Finished run(int ranks, const std::string& arguments) { return run_ranks(folder_.path(), ranks, arguments); }

  static std::ptrdiff_t count_of(const std::string& text, const std::string& pattern) {
    const std::regex regex(pattern);
    return std::distance(std::sregex_iterator(text.begin(), text.end(), regex), std::sregex_iterator());
  }

  TempDir folder_;
};

TEST_F(CaffeRanks, HearOnceOfWhatChangesNothing) {
  const Finished done = run(3, "train -bvlc -threshold 5 -solver solver.prototxt");
  ASSERT_EQ(done.code, 0) << done.log;
  EXPECT_EQ(count_of(done.log, "-bvlc is accepted and changes nothing here"), 1) << done.log;
  EXPECT_EQ(count_of(done.log, "-threshold is accepted and changes nothing here"), 1) << done.log;
}

/// The lines of a log from "Running for" on, without what glog puts before them.
std::string results(const std::string& log) {
  const std::string bare = std::regex_replace(log, std::regex("[IW]\\d{4} [^\\]]*\\] "), "");
  const size_t begin = bare.find("Running for");
  return begin == std::string::npos ? "" : bare.substr(begin);
}

/// 1, 2 and 3 ranks with 5 batches: some ranks have one more than others. 8 ranks: some have none.
TEST_F(CaffeRanks, ShareOutTheBatchesOfATest) {
  ASSERT_EQ(run_caffe_program(folder_.path(), {"train", "-solver=solver.prototxt"}).code, 0);
  const std::string test = "test -deterministic -model net.prototxt -weights toy_iter_4.caffemodel -iterations 5";
  std::istringstream words(test);
  const std::vector<std::string> args{std::istream_iterator<std::string>(words), {}};
  const std::string alone = results(run_caffe_program(folder_.path(), args).log);
  ASSERT_EQ(count_of(alone, "Batch \\d, loss = "), 5) << alone;
  for (const int ranks : {1, 2, 3, 8}) {
    const Finished done = run(ranks, test);
    ASSERT_EQ(done.code, 0) << done.log;
    EXPECT_EQ(results(done.log), alone) << ranks << " ranks";
    EXPECT_EQ(count_of(done.log, "5 batches are shared out to " + std::to_string(ranks) + " ranks"), ranks > 1);
  }
}

TEST_F(CaffeRanks, AnErrorOfATestIsReportedOnce) {
  const Finished done = run(3, "test -model net.prototxt -weights nope.caffemodel");
  EXPECT_EQ(done.code, 4) << done.log;
  EXPECT_EQ(count_of(done.log, "caffe: error: .*nope.caffemodel"), 1) << done.log;
}

TEST_F(CaffeRanks, TimeEachItsOwnNetAndSaySo) {
  const Finished done = run(3, "time -iterations 1 -model net.prototxt");
  ASSERT_EQ(done.code, 0) << done.log;
  EXPECT_EQ(count_of(done.log, "3 processes were started, and each times a net of its own"), 1) << done.log;
  EXPECT_EQ(count_of(done.log, "Total Time: "), 3) << done.log;
  EXPECT_EQ(count_of(run(1, "time -iterations 1 -model net.prototxt").log, "processes were started"), 0);
}

}  // namespace
}  // namespace robusta::test
