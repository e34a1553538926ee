// Models and states as HDF5 files: what is written is read back exactly, and what cannot be is refused.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "data/hdf5_files.h"
#include "solver/files/snapshot.h"
#include "solver/files/weights.h"
#include "solver/toy_solver.h"
#include "support/errors.h"
#include "support/files.h"

namespace robusta::test {
namespace {

/// A solver whose net has these layers between its input "x" of 2 x 3 and its loss of "y".
SolverDef solver_def(const std::string& layers, const TempDir& folder) {
  const std::string solver =
      "base_lr: 0.1 lr_policy: 'fixed' momentum: 0.9 max_iter: 4 random_seed: 1 snapshot_format: HDF5 "
      "snapshot_prefix: '" +
      (folder / "net") + "' ";
  const std::string data =
      "layer { name: 'd' type: 'DummyData' top: 'x' top: 't' dummy_data_param { "
      "shape { dim: 2 dim: 3 } data_filler { type: 'gaussian' } } } ";
  const std::string loss = "layer { name: 'loss' type: 'EuclideanLoss' bottom: 'y' bottom: 't' top: 'loss' } ";
  return parse_solver(solver + "net_param { " + data + layers + loss + "}", "solver.prototxt");
}

std::unique_ptr<Solver> solver_of(const std::string& layers, const TempDir& folder, const std::string& state = "") {
  SolverOptions options;
  options.snapshot = state;
  return std::make_unique<Solver>(solver_def(layers, folder), std::move(options));
}

std::string product(const std::string& name, const std::string& bottom, const std::string& top,
                    const std::string& more = "") {
  return "layer { name: '" + name + "' type: 'InnerProduct' bottom: '" + bottom + "' top: '" + top + "' " +
         "inner_product_param { num_output: 3 weight_filler { type: 'gaussian' std: 1 } } " + more + "} ";
}

/// Both layers have one weight, each its own bias.
std::string sharing_layers() {
  const std::string shared = "param { name: 'w' } ";
  return product("a", "x", "h", shared) + product("b", "h", "y", shared);
}

hid_t make_group(hid_t file, const std::string& name) {
  return H5Gcreate2(file, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
}

void add_text(hid_t file, const char* name, const std::string& text) {
  const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
  H5Tset_size(type, text.size() + 1);
  const hid_t data = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  EXPECT_GE(H5Dwrite(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text.c_str()), 0);
  H5Dclose(data);
  H5Sclose(space);
  H5Tclose(type);
}

TEST(Hdf5Snapshot, ResumesExactly) {
  const TempDir folder;
  const auto undisturbed = solver_of(product("ip", "x", "y"), folder);
  undisturbed->step(4);
  const auto first = solver_of(product("ip", "x", "y"), folder);
  first->step(2);
  const SnapshotPaths paths = first->snapshot();
  EXPECT_EQ(paths.model, folder / "net_iter_2.caffemodel.h5");
  EXPECT_EQ(paths.state, folder / "net_iter_2.solverstate.h5");
  EXPECT_EQ(newest_snapshot(folder / "net"), paths.state);
  const auto second = solver_of(product("ip", "x", "y"), folder, paths.state);
  EXPECT_EQ(second->state().iter, 2);
  second->step(2);
  EXPECT_EQ(everything(*second), everything(*undisturbed));
}

TEST(Hdf5Snapshot, LeavesOutWhatAnotherLayerOwns) {
  const TempDir folder;
  const auto solver = solver_of(sharing_layers(), folder);
  solver->step(1);
  const SnapshotPaths paths = solver->snapshot();
  const WeightsFile file = format_of_file(paths.model).read_model(paths.model);
  const auto arrays_of = [&](const std::string& name) {
    for (const LayerWeights& layer : file.layers) {
      if (layer.name == name) return layer.blobs;
    }
    return std::vector<BlobData>{};
  };
  EXPECT_EQ(arrays_of("a").size(), 2);
  ASSERT_EQ(arrays_of("b").size(), 2);
  EXPECT_TRUE(arrays_of("b")[0].data.empty());
  EXPECT_EQ(everything(*solver_of(sharing_layers(), folder, paths.state)), everything(*solver));

  const auto apart = solver_of(product("a", "x", "h") + product("b", "h", "y"), folder);
  const Error error = error_of([&] { load_weights({paths.model}, apart->train_net(), "Finetuning"); });
  EXPECT_EQ(error.kind(), ErrorKind::kModel);
  EXPECT_TRUE(contains(error.what(), "the file lacks array 0"));
}

TEST(Hdf5Snapshot, NamesMayBePaths) {
  const TempDir folder;
  const std::string layers = product("inception/1x1", "x", "h") + product("inception/3x3/reduce", "h", "y");
  const auto solver = solver_of(layers, folder);
  solver->step(1);
  EXPECT_EQ(everything(*solver_of(layers, folder, solver->snapshot().state)), everything(*solver));
}

TEST(Hdf5Snapshot, NamesThatAreNoPathsAreRefusedBeforeTraining) {
  for (const char* name : {"a//b", "/a", "a/", "a/./b", "ip/0", "ip/1/c"}) {
    const TempDir folder;
    const auto solver = solver_of(product("ip", "x", "h") + product(name, "h", "y"), folder);
    const Error error = error_of([&] { solver->solve(); });
    EXPECT_EQ(error.kind(), ErrorKind::kUnsupported) << name;
    EXPECT_TRUE(contains(error.what(), name));
  }
}

TEST(Hdf5Snapshot, TwoLayersOfOneNameAreRefusedBeforeTraining) {
  const TempDir folder;
  const auto solver = solver_of(product("ip", "x", "h") + product("ip", "h", "y"), folder);
  EXPECT_TRUE(contains(error_of([&] { solver->solve(); }).what(), "two layers of one name"));
}

TEST(Hdf5Snapshot, GradientsLieBesideTheWeights) {
  const TempDir folder;
  SolverDef def = solver_def(sharing_layers(), folder);
  def.param.set_snapshot_diff(true);
  Solver solver(def, {});
  solver.step(1);
  const std::string path = solver.snapshot().model;
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  for (const char* name : {"/diff/a/0", "/diff/a/1", "/diff/b/0", "/diff/b/1", "/data/b/1", "/data/loss"}) {
    EXPECT_GT(H5Lexists(file, name, H5P_DEFAULT), 0) << name;
  }
  EXPECT_EQ(H5Lexists(file, "/data/b/0", H5P_DEFAULT), 0);
  H5Fclose(file);
}

/// Caffe's own files have only what Caffe knows, and integers and doubles count as numbers.
TEST(Hdf5Snapshot, ReadsWhatCaffeWrites) {
  const TempDir folder;
  const std::string model_path = folder / "net_iter_7.caffemodel.h5", state_path = folder / "net_iter_7.solverstate.h5";
  {
    Hdf5Maker model(model_path);
    H5Gclose(make_group(model.file(), "/data"));
    H5Gclose(make_group(model.file(), "/data/ip"));
    model.add("/data/ip/0", {3, 3}, counted_values(9), {.type = H5T_STD_I32LE});
    model.add("/data/ip/1", {3}, counted_values(3), {.type = H5T_IEEE_F64LE});
    Hdf5Maker state(state_path);
    state.add("iter", {1}, {7}, {.type = H5T_STD_I32LE});
    state.add("current_step", {1}, {2}, {.type = H5T_STD_I32LE});
    H5Gclose(make_group(state.file(), "/history"));
    state.add("/history/0", {3, 3}, counted_values(9, 10));
    state.add("/history/1", {3}, counted_values(3, 20));
    add_text(state.file(), "learned_net", model_path);
  }
  const auto solver = solver_of(product("ip", "x", "y"), folder, state_path);
  EXPECT_EQ(solver->state().iter, 7);
  EXPECT_EQ(solver->state().policy.current_step, 2);
  const std::vector<float> weights = {0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 2};
  const std::vector<float> histories = {10, 11, 12, 13, 14, 15, 16, 17, 18, 20, 21, 22};
  std::vector<float> want = weights;
  want.insert(want.end(), histories.begin(), histories.end());
  EXPECT_EQ(everything(*solver), want);
}

TEST(Hdf5Snapshot, WrongFilesAreNamed) {
  const TempDir folder;
  const auto solver = solver_of(product("ip", "x", "y"), folder);
  const SnapshotPaths paths = solver->snapshot();
  const auto weights_from = [&](const std::string& path) {
    return error_of([&] { load_weights({path}, solver->train_net(), "Finetuning"); });
  };
  EXPECT_TRUE(contains(weights_from(paths.state).what(), "this is a solver state"));
  EXPECT_TRUE(contains(error_of([&] { read_snapshot(paths.model); }).what(), "these are weights"));

  const std::string bytes = read_file(paths.model);
  for (const size_t size : {size_t{8}, bytes.size() / 2, bytes.size() - 8}) {
    write_file(folder / "cut.h5", bytes.substr(0, size));
    const Error error = weights_from(folder / "cut.h5");
    EXPECT_EQ(error.kind(), ErrorKind::kModel) << size;
    EXPECT_TRUE(contains(error.what(), "cut.h5"));
  }
  {
    Hdf5Maker other(folder / "other.h5");
    other.add("values", {3}, counted_values(3));
  }
  EXPECT_TRUE(contains(weights_from(folder / "other.h5").what(), "no weights of a net"));
  EXPECT_TRUE(contains(error_of([&] { read_snapshot(folder / "other.h5"); }).what(), "no solver state"));
}

/// Nothing is written for what has no values yet, and many arrays together may claim what none may alone.
TEST(Hdf5Snapshot, ArraysLargerThanTheFileAreRefused) {
  const TempDir folder;
  {
    Hdf5Maker file(folder / "large.h5");
    H5Gclose(make_group(file.file(), "/data"));
    H5Gclose(make_group(file.file(), "/data/ip"));
    for (int i = 0; i < 20; ++i) file.add("/data/ip/" + std::to_string(i), {2'000'000}, {});
  }
  const auto solver = solver_of(product("ip", "x", "y"), folder);
  const Error error = error_of([&] { load_weights({folder / "large.h5"}, solver->train_net(), "Finetuning"); });
  EXPECT_TRUE(contains(error.what(), "larger than the file can hold"));
}

/// A group within itself has no end.
TEST(Hdf5Snapshot, GroupsWithoutEndAreRefused) {
  const TempDir folder;
  {
    Hdf5Maker file(folder / "loop.h5");
    const hid_t data = make_group(file.file(), "/data");
    for (const char* name : {"again", "and again"}) H5Lcreate_hard(data, ".", data, name, H5P_DEFAULT, H5P_DEFAULT);
    H5Gclose(data);
  }
  const auto solver = solver_of(product("ip", "x", "y"), folder);
  const Error error = error_of([&] { load_weights({folder / "loop.h5"}, solver->train_net(), "Finetuning"); });
  EXPECT_TRUE(contains(error.what(), "too many groups"));
}

}  // namespace
}  // namespace robusta::test
