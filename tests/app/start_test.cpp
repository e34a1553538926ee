// libgomp looks at its variables when the program is loaded, and says with OMP_DISPLAY_ENV what it has found: once for
// each time that the program starts.
#include <gtest/gtest.h>

#include <cstdlib>

#include "support/files.h"
#include "support/places.h"

namespace robusta::test::start_test {
namespace {

/// What libgomp finds, a line for each start, when `caffe --version` runs with these variables alone.
std::string spin_counts(const std::string& variables) {
  const TempDir folder;
  const std::string out = folder / "out.txt";
  const std::string command = "env -i OMP_DISPLAY_ENV=VERBOSE LD_LIBRARY_PATH=\"$LD_LIBRARY_PATH\" " + variables + " " +
                              tools_dir() + "/caffe --version 2>&1 | sed -n 's/.*GOMP_SPINCOUNT = /spins /p' > " + out;
  return std::system(command.c_str()) == 0 ? read_file(out) : "the shell failed";
}

TEST(Start, ThreadsSpinBriefly) {
  const std::string counts = spin_counts("");
  EXPECT_TRUE(counts.ends_with("spins '50000'\n")) << counts;
}

TEST(Start, HappensOnceFromAShell) { EXPECT_EQ(spin_counts("_=/bin/caffe"), "spins '50000'\n"); }

TEST(Start, LeavesTheUsersChoiceAlone) {
  EXPECT_EQ(spin_counts("_=/bin/caffe GOMP_SPINCOUNT=7"), "spins '7'\n");
  EXPECT_EQ(spin_counts("_=/bin/caffe OMP_WAIT_POLICY=passive"), "spins '0'\n");
}

TEST(Start, TranslatesIntelsVariablesAsWell) {
  const std::string counts = spin_counts("_=/bin/caffe KMP_BLOCKTIME=0");
  EXPECT_TRUE(counts.ends_with("spins '0'\n")) << counts;
}

}  // namespace
}  // namespace robusta::test::start_test
