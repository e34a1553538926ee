// The moving average of the weights beside HDF5 snapshots.
#include <gtest/gtest.h>

#include "net/run/arrays.h"
#include "solver/toy_solver.h"
#include "support/files.h"

namespace robusta::test {
namespace {

std::vector<float> first_average(Solver& solver) {
  return read_array(solver.train_net().stream(), solver.updater().average()->tensors().at(0));
}

TEST(Hdf5Average, LiesBesideTheModel) {
  const TempDir folder;
  const std::string settings =
      "momentum: 0.9 max_iter: 100 ema_decay: 0.75 snapshot_format: HDF5 snapshot_prefix: '" + (folder / "toy") + "' ";
  const auto whole = toy(settings);
  whole->step(20);
  const auto first = toy(settings);
  first->step(10);
  const SnapshotPaths paths = first->snapshot();
  EXPECT_EQ(paths.averaged, folder / "toy_iter_10_ema.caffemodel.h5");
  SolverOptions options;
  options.snapshot = paths.state;
  const auto second = toy(settings, options);
  EXPECT_EQ(first_average(*second), first_average(*first));
  second->step(10);
  EXPECT_EQ(everything(*second), everything(*whole));
  EXPECT_EQ(first_average(*second), first_average(*whole));
}

}  // namespace
}  // namespace robusta::test
