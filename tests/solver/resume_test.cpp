#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "schema/blob_proto.h"
#include "schema/state_file.h"
#include "schema/weights_file.h"
#include "solver/files/weights.h"
#include "solver/solver.h"
#include "solver/toy_solver.h"
#include "support/errors.h"
#include "support/files.h"

namespace robusta::test {
namespace {

namespace fs = std::filesystem;

std::string prefix_of(const TempDir& folder) { return "snapshot_prefix: '" + (folder / "toy") + "' "; }

SolverOptions from(const std::string& state) {
  SolverOptions options;
  options.snapshot = state;
  return options;
}

/// Solver types and policies with memory of different kinds.
class Resume : public testing::TestWithParam<const char*> {};

TEST_P(Resume, FiftyAndFiftyIterationsEqualAHundredBitByBit) {
  const TempDir folder;
  const std::string settings = prefix_of(folder) + "max_iter: 100 " + GetParam();
  auto whole = toy(settings);
  std::vector<double> want, got;
  whole->on_iteration = [&](int iter, double loss, double rate) {
    if (iter >= 50) want.insert(want.end(), {loss, rate, whole->state().losses.mean()});
  };
  whole->step(100);

  std::string state;
  {
    auto first = toy(settings);
    first->step(50);
    state = first->snapshot().state;
  }
  auto second = toy(settings, from(state));
  EXPECT_EQ(second->state().iter, 50);
  second->on_iteration = [&](int, double loss, double rate) {
    got.insert(got.end(), {loss, rate, second->state().losses.mean()});
  };
  second->step(50);
  EXPECT_EQ(got, want);
  EXPECT_EQ(everything(*second), everything(*whole));
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, Resume,
    testing::Values("type: 'SGD' momentum: 0.9 weight_decay: 0.001", "type: 'Nesterov' momentum: 0.9 iter_size: 2",
                    "type: 'AdaGrad'", "type: 'RMSProp' rms_decay: 0.9", "type: 'AdaDelta' momentum: 0.95 delta: 1e-6",
                    "type: 'Adam' momentum: 0.9 clip_gradients: 0.5", "type: 'AdamW' momentum: 0.9 weight_decay: 0.01",
                    "type: 'SGD' momentum: 0.9 weight_decay: 0.001 larc: true larc_eta: 0.1",
                    "type: 'LAMB' momentum: 0.9 weight_decay: 0.01",
                    "type: 'RMSProp' weight_decay: 0.01 regularization_type: 'WD'",
                    "type: 'SAG' momentum: 0.9 weight_decay: 0.001 larc: true larc_policy: 'clip'",
                    "type: 'SGD' average_loss: 7 test_iter: 3 test_interval: 20",
                    // A test is due before the first iteration after the resume.
                    "type: 'SGD' momentum: 0.9 test_iter: 3 test_interval: 25",
                    "type: 'RMSProp' rms_decay: 0.9 test_iter: 3 test_interval: 50",
                    "type: 'Adam' momentum: 0.9 test_iter: 3 test_interval: 50"));

/// Resumed where nothing is left to do, a training writes the state that it has read.
TEST(Resume, ASnapshotRightAfterwardsIsTheSame) {
  const TempDir folder;
  const std::string settings = prefix_of(folder) + "type: 'Adam' momentum: 0.9";
  auto first = toy(settings);
  first->step(5);
  const std::string state = first->snapshot().state, before = read_file(state);
  auto second = toy(settings, from(state));
  EXPECT_EQ(read_file(second->snapshot().state), before);
}

TEST(Resume, PoliciesWithMemoryGoOn) {
  const TempDir folder;
  for (const char* policy : {"lr_policy: 'multistep' gamma: 0.5 stepvalue: 2 stepvalue: 9 stepvalue: 12",
                             "lr_policy: 'plateau' gamma: 0.5 plateau_winsize: 4 plateau_winsize: 4"}) {
    SolverDef def = toy_def(prefix_of(folder) + "max_iter: 100 average_loss: 2");
    caffe::SolverParameter policy_param = parse_solver(policy, "policy").param;
    policy_param.clear_snapshot_prefix();
    def.param.MergeFrom(policy_param);
    std::vector<double> want, got;
    Solver whole(def, {});
    whole.on_iteration = [&](int iter, double, double rate) {
      if (iter >= 10) want.push_back(rate);
    };
    whole.step(20);
    Solver first(def, {});
    first.step(10);
    Solver second(def, from(first.snapshot().state));
    second.on_iteration = [&](int, double, double rate) { got.push_back(rate); };
    second.step(10);
    EXPECT_EQ(got, want) << policy;
  }
}

TEST(Resume, ADrawnSeedIsKept) {
  const TempDir folder;
  SolverDef def = toy_def(prefix_of(folder));
  def.param.clear_random_seed();
  Solver first(def, {});
  first.step(2);
  Solver second(def, from(first.snapshot().state));
  EXPECT_EQ(second.state().seed, first.state().seed);
}

TEST(Resume, AStateWithoutOurFieldBeginsAtTheFirstSample) {
  const TempDir folder;
  auto first = toy(prefix_of(folder));
  first->step(3);
  const std::string path = first->snapshot().state;
  caffe::SolverState state = read_state(path);
  state.clear_robusta();
  write_state(path, state);
  auto second = toy(prefix_of(folder), from(path));
  EXPECT_EQ(second->state().iter, 3);
  EXPECT_EQ(second->state().samples_seen, 0u);
  EXPECT_EQ(everything(*second), everything(*first));
}

/// Old shapes of four lengths, doubles, and NVIDIA's arrays of bytes.
TEST(Resume, HistoriesMayHaveTheFormsOfOtherCaffes) {
  const TempDir folder;
  auto first = toy(prefix_of(folder) + "type: 'SGD' momentum: 0.9");
  first->step(3);
  const std::string path = first->snapshot().state;
  caffe::SolverState state = read_state(path);
  ASSERT_EQ(state.history_size(), 4);
  caffe::BlobProto &legacy = *state.mutable_history(0), &bias = *state.mutable_history(1),
                   &doubles = *state.mutable_history(2), &raw = *state.mutable_history(3);
  for (caffe::BlobProto* old : {&legacy, &bias}) {
    const bool matrix = old->shape().dim_size() == 2;
    old->set_num(1), old->set_channels(1);
    old->set_height(matrix ? static_cast<int32_t>(old->shape().dim(0)) : 1);
    old->set_width(static_cast<int32_t>(old->shape().dim(matrix ? 1 : 0)));
    old->clear_shape();
  }
  for (const float value : doubles.data()) doubles.add_double_data(value);
  doubles.clear_data();
  raw.set_raw_data_type(caffe::FLOAT);
  raw.set_raw_data(raw.data().data(), sizeof(float) * static_cast<size_t>(raw.data_size()));
  raw.clear_data();
  write_state(path, state);
  auto second = toy(prefix_of(folder) + "type: 'SGD' momentum: 0.9", from(path));
  EXPECT_EQ(everything(*second), everything(*first));
  state.mutable_history(0)->set_width(1);
  write_state(path, state);
  const Error error = error_of([&] { toy(prefix_of(folder) + "type: 'SGD' momentum: 0.9", from(path)); });
  EXPECT_EQ(error.kind(), ErrorKind::kModel);
  EXPECT_EQ(error.location(), path);
}

TEST(Snapshot, GradientsLieBesideTheWeights) {
  const TempDir folder;
  auto solver = toy(prefix_of(folder) + "snapshot_diff: true");
  solver->step(1);
  const std::string path = solver->snapshot().model;
  caffe::NetParameter net;
  read_binary_proto(path, &net, ErrorKind::kModel);
  int arrays = 0;
  for (const caffe::LayerParameter& layer : net.layer()) {
    for (const caffe::BlobProto& blob : layer.blobs()) {
      EXPECT_EQ(blob.diff_size(), blob.data_size()) << layer.name();
      ++arrays;
    }
  }
  EXPECT_EQ(arrays, 4);
  EXPECT_EQ(read_weights(path).layers.size(), static_cast<size_t>(net.layer_size()));
}

TEST(Resume, FindsTheWeightsBesideAMovedState) {
  const TempDir folder;
  fs::create_directory(folder / "old");
  auto first = toy("snapshot_prefix: '" + (folder / "old/toy") + "'");
  first->step(2);
  first->snapshot();
  fs::rename(folder / "old", folder / "new");
  auto second = toy(prefix_of(folder), from(folder / "new/toy_iter_2.solverstate"));
  EXPECT_EQ(everything(*second), everything(*first));
}

void expect_model_error(const std::string& settings, const std::string& state, const std::string& part) {
  try {
    toy(settings, from(state));
    FAIL() << "resumed from " << state;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kModel);
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(Resume, RefusesWhatDoesNotFit) {
  const TempDir folder;
  auto first = toy(prefix_of(folder));
  first->step(2);
  const SnapshotPaths paths = first->snapshot();
  expect_model_error(prefix_of(folder) + "type: 'Adam'", paths.state, "4 history arrays, this solver needs 8");
  expect_model_error(prefix_of(folder), paths.model, ".caffemodel");
  expect_model_error(prefix_of(folder), folder / "none.solverstate", "none.solverstate");
  caffe::SolverState state = read_state(paths.state);
  state.mutable_history(0)->mutable_shape()->set_dim(0, 6);
  state.mutable_history(0)->mutable_shape()->set_dim(1, 5);
  write_state(paths.state, state);
  expect_model_error(prefix_of(folder), paths.state, "history 0 has shape 6 5 (30)");
}

/// The state of one training beside the model of another, as two that write under one prefix leave them.
TEST(Resume, RefusesTheModelOfAnotherTraining) {
  const TempDir folder;
  auto first = toy(prefix_of(folder)), second = toy("snapshot_prefix: '" + (folder / "other") + "' momentum: 0.9");
  first->step(2);
  second->step(2);
  const SnapshotPaths ours = first->snapshot(), theirs = second->snapshot();
  const std::string model = read_file(ours.model);
  write_file(ours.model, read_file(theirs.model));
  expect_model_error(prefix_of(folder), ours.state, "does not belong to " + ours.model);
  EXPECT_EQ(newest_snapshot(folder / "toy"), "");
  write_file(ours.model, model);
  EXPECT_EQ(newest_snapshot(folder / "toy"), ours.state);
}

TEST(AutoSnapshot, TakesTheNewestWholeOne) {
  const TempDir folder;
  const std::string prefix = folder / "toy";
  EXPECT_EQ(newest_snapshot(prefix), "");
  auto solver = toy(prefix_of(folder));
  for (int i = 0; i < 4; ++i) {
    solver->step(3);
    solver->snapshot();
  }
  EXPECT_EQ(newest_snapshot(prefix), prefix + "_iter_12.solverstate");  // not 9: numbers, not letters
  fs::resize_file(prefix + "_iter_12.solverstate", fs::file_size(prefix + "_iter_12.solverstate") / 2);
  EXPECT_EQ(newest_snapshot(prefix), prefix + "_iter_9.solverstate");
  fs::resize_file(prefix + "_iter_9.caffemodel", 100);
  EXPECT_EQ(newest_snapshot(prefix), prefix + "_iter_6.solverstate");
  fs::remove(prefix + "_iter_6.caffemodel");
  EXPECT_EQ(newest_snapshot(prefix), prefix + "_iter_3.solverstate");
  write_file(prefix + "_iter_99x.solverstate", "");
  write_file(prefix + "_iter_.solverstate", "");
  write_file(folder / "toy2_iter_50.solverstate", "");
  EXPECT_EQ(newest_snapshot(prefix), prefix + "_iter_3.solverstate");
}

TEST(Snapshot, AnUnwritablePrefixIsFoundBeforeTraining) {
  auto solver = toy("max_iter: 5 snapshot_prefix: '/no_such_folder/toy'");
  int iterations = 0;
  solver->on_iteration = [&](int, double, double) { ++iterations; };
  try {
    solver->solve();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kOutput);
    EXPECT_NE(std::string(error.what()).find("/no_such_folder/toy"), std::string::npos) << error.what();
  }
  EXPECT_EQ(iterations, 0);
}

TEST(Snapshot, AFailedOneIsRetriedAndTold) {
  const TempDir folder;
  fs::create_directory(folder / "a");
  auto solver = toy("max_iter: 8 snapshot: 2 snapshot_prefix: '" + (folder / "a/toy") + "'");
  solver->on_iteration = [&](int iter, double, double) {
    if (iter == 2) fs::rename(folder / "a", folder / "b");  // the one at 4 fails
    if (iter == 4) fs::rename(folder / "b", folder / "a");
  };
  const TrainingResult result = solver->solve();
  EXPECT_EQ(result.failed_snapshots, 1);
  EXPECT_FALSE(result.stopped_early);
  for (const int iter : {2, 6, 8}) EXPECT_TRUE(fs::exists(snapshot_paths(folder / "a/toy", iter).state)) << iter;
  EXPECT_FALSE(fs::exists(snapshot_paths(folder / "a/toy", 4).state));
}

TEST(Snapshot, AFailureAtTheEndOfTheLoopIsTriedOnceMore) {
  const TempDir folder;
  fs::create_directory(folder / "a");
  auto solver =
      toy("max_iter: 4 snapshot: 2 snapshot_after_train: false snapshot_prefix: '" + (folder / "a/toy") + "'");
  solver->on_iteration = [&](int iter, double, double) {
    if (iter == 3) fs::rename(folder / "a", folder / "b");
  };
  EXPECT_EQ(solver->solve().failed_snapshots, 2);
  EXPECT_TRUE(fs::exists(snapshot_paths(folder / "b/toy", 2).state));
}

/// A limit on file sizes fails in the middle of a file, as a full disk does.
TEST(Snapshot, AFullDiskLeavesNoPartsAndTheOldSnapshot) {
  const TempDir folder;
  auto solver = toy("max_iter: 4 snapshot: 1 " + prefix_of(folder));
  struct rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  solver->on_iteration = [&](int iter, double, double) {
    struct rlimit limit = before;
    if (iter == 1) limit.rlim_cur = 300;
    setrlimit(RLIMIT_FSIZE, &limit);
  };
  const TrainingResult result = solver->solve();
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, ignored);
  EXPECT_EQ(result.failed_snapshots, 1);
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder.path())) files.push_back(entry.path().filename());
  std::sort(files.begin(), files.end());
  EXPECT_EQ(files,
            (std::vector<std::string>{"toy_iter_1.caffemodel", "toy_iter_1.solverstate", "toy_iter_3.caffemodel",
                                      "toy_iter_3.solverstate", "toy_iter_4.caffemodel", "toy_iter_4.solverstate"}));
}

TEST(Snapshot, HoldsEveryLayerWithItsPhaseAndArrays) {
  const TempDir folder;
  auto solver = toy(prefix_of(folder));
  for (const bool with_diffs : {false, true}) {
    const TempDir folder;
    write_net(folder / "net", solver->train_net(), with_diffs);
    EXPECT_EQ(read_file(folder / "net"), net_to_proto(solver->train_net(), with_diffs).SerializeAsString());
  }
  const caffe::NetParameter proto = net_to_proto(solver->train_net(), false);
  EXPECT_EQ(proto.name(), "toy");
  ASSERT_EQ(proto.layer_size(), 6);
  EXPECT_EQ(proto.layer(1).name(), "ip1");
  EXPECT_EQ(proto.layer(1).phase(), caffe::TRAIN);
  EXPECT_TRUE(proto.layer(1).has_phase());
  ASSERT_EQ(proto.layer(1).blobs_size(), 2);
  EXPECT_EQ(proto.layer(1).blobs(0).shape().dim(0), 5);
  EXPECT_EQ(proto.layer(1).blobs(0).data_size(), 30);
  EXPECT_EQ(proto.layer(0).blobs_size(), 0);
  EXPECT_FALSE(proto.has_state());
  EXPECT_EQ(net_to_proto(solver->train_net(), true).layer(1).blobs(0).diff_size(), 30);
}

TEST(Weights, FineTuningCopiesByNameAndReports) {
  const TempDir folder;
  auto trained = toy(prefix_of(folder));
  trained->step(3);
  const SnapshotPaths paths = trained->snapshot();
  SolverDef def = toy_def(prefix_of(folder));
  def.param.mutable_net_param()->mutable_layer(4)->set_name("ip2_new");
  SolverOptions options;
  options.weights = {paths.model};
  Solver fine(def, options);
  Net& net = fine.train_net();
  EXPECT_EQ(net.blobs().read_param(*net.layer_params("ip1")[0]),
            trained->train_net().blobs().read_param(*trained->train_net().layer_params("ip1")[0]));
  EXPECT_EQ(fine.state().iter, 0);
  const CopyReport report = copy_weights(read_weights(paths.model), paths.model, net);
  EXPECT_EQ(report.copied, std::vector<std::string>{"ip1 (5 6, 5)"});
  EXPECT_EQ(report.skipped, std::vector<std::string>{"ip2"});
  EXPECT_EQ(report.missing, std::vector<std::string>{"ip2_new (2 5, 2)"});
}

TEST(Weights, AnotherShapeIsAnErrorWithBoth) {
  const TempDir folder;
  auto trained = toy(prefix_of(folder));
  const SnapshotPaths paths = trained->snapshot();
  SolverDef def = toy_def(prefix_of(folder));
  def.param.mutable_net_param()->mutable_layer(1)->mutable_inner_product_param()->set_num_output(7);
  SolverOptions options;
  options.weights = {paths.model};
  try {
    Solver solver(def, options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kModel);
    EXPECT_EQ(error.layer(), "ip1");
    EXPECT_NE(std::string(error.what()).find("5 6 (30) in the file and 7 6 (42) in the net"), std::string::npos)
        << error.what();
  }
}

TEST(Weights, ListsAreSplitAtCommas) {
  EXPECT_EQ(split_list(" a.caffemodel , b c.caffemodel,,"),
            (std::vector<std::string>{"a.caffemodel", "b c.caffemodel"}));
}

}  // namespace
}  // namespace robusta::test
