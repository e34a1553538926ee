// A build without HDF5 refuses its snapshots before training starts.

#include <gtest/gtest.h>

#include "solver/toy_solver.h"
#include "support/errors.h"
#include "support/files.h"

namespace robusta::test {
namespace {

TEST(WithoutHdf5Test, SnapshotsAreRefusedBeforeTraining) {
  const TempDir folder;
  const auto solver = toy("max_iter: 5 snapshot_format: HDF5 snapshot_prefix: '" + (folder / "toy") + "'");
  EXPECT_EQ(error_of([&] { solver->solve(); }).kind(), ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace robusta::test
