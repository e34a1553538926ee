// Every file of the corpus is read once by its target: what has been a finding stays mended. A file is a test, so that
// one that ends the process is named.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <filesystem>
#include <vector>

#include "fuzz.h"
#include "support/files.h"
#include "support/places.h"

namespace robusta::fuzz {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// Of an ordinary machine that is busy, under sanitizers; what the limits let through takes far less.
constexpr std::chrono::seconds kMost{20};

struct Sample {
  std::string target;
  fs::path file;
  /// As a test may be called.
  std::string name() const {
    std::string name = target + "_" + file.stem().string();
    for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    return name;
  }
};

std::vector<Sample> corpus() {
  std::vector<Sample> samples;
  for (const auto& folder : fs::directory_iterator(test::source_dir() + "/tests/fuzz/corpus")) {
    if (!folder.is_directory() || folder.path().filename() == "rank_file") continue;  // rank_file_fuzz.py reads these
    for (const auto& file : fs::directory_iterator(folder)) samples.push_back({folder.path().filename(), file.path()});
  }
  std::sort(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) { return a.file < b.file; });
  return samples;
}

class Corpus : public testing::TestWithParam<Sample> {};

TEST_P(Corpus, IsReadOrRefused) {
  const auto target = targets().find(GetParam().target);
  if (target == targets().end() && GetParam().target == "hdf5") GTEST_SKIP() << "this build has no HDF5";
  ASSERT_NE(target, targets().end()) << "no file of targets/ registers " << GetParam().target;
  const std::string input = test::read_file(GetParam().file.string());
  const Clock::time_point begin = Clock::now();
  EXPECT_NO_THROW(read_input(target->second, input));
  EXPECT_LT(Clock::now() - begin, kMost);
}

INSTANTIATE_TEST_SUITE_P(Of, Corpus, testing::ValuesIn(corpus()), [](const auto& info) { return info.param.name(); });

TEST(Targets, HaveACorpusEach) {
  for (const auto& [name, target] : targets()) {
    const fs::path folder = test::source_dir() + "/tests/fuzz/corpus/" + name;
    EXPECT_TRUE(fs::is_directory(folder) && !fs::is_empty(folder)) << folder;
  }
}

}  // namespace
}  // namespace robusta::fuzz
