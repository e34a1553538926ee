// Against what the real Caffe recorded: upgraded files, nets after Split insertion, snapshots.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "schema/filter.h"
#include "schema/mean_file.h"
#include "schema/print.h"
#include "schema/read_text.h"
#include "schema/splits.h"
#include "schema/state_file.h"
#include "schema/weights_file.h"
#include "support/files.h"
#include "support/golden_file.h"

namespace robusta {
namespace {

/// Path of a recorded file, "" when there is none.
std::string recorded(const std::string& name) {
  const auto path = test::golden_dir() / name;
  return std::filesystem::exists(path) ? path.string() : "";
}

#define ROBUSTA_RECORDED(var, name)       \
  const std::string var = recorded(name); \
  if (var.empty()) GTEST_SKIP() << "no recorded file " << name

TEST(Recorded, UpgradedV0Net) {
  ROBUSTA_RECORDED(want, "net__legacy_v0.upgraded.prototxt.txt");
  EXPECT_EQ(text_form(read_net(recorded("net__legacy_v0.prototxt")).param), test::read_file(want));
}

TEST(Recorded, UpgradedV1Weights) {
  ROBUSTA_RECORDED(want, "io__legacy_v1.upgraded.caffemodel");
  caffe::NetParameter old;
  read_binary_proto(recorded("io__legacy_v1.caffemodel"), &old, ErrorKind::kModel);
  EXPECT_TRUE(net_from(old, "n").param.SerializeAsString() == test::read_file(want));
}

TEST(Recorded, UpgradedSolver) {
  ROBUSTA_RECORDED(want, "io__old_solver.upgraded.txt");
  SolverDef solver = read_solver(recorded("io__old_solver.prototxt"));
  solver.param.clear_snapshot_prefix();  // the tool does not fill it in
  EXPECT_EQ(text_form(solver.param), test::read_file(want));
}

/// The `layer` lines of a .names.txt: name, type, bottoms, tops of every layer after Split insertion.
std::string layers_of(const caffe::NetParameter& net) {
  const auto joined = [](const auto& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
    return text;
  };
  std::string text;
  for (const caffe::LayerParameter& layer : net.layer())
    text += layer.name() + "\t" + layer.type() + "\t" + joined(layer.bottom()) + "\t" + joined(layer.top()) + "\n";
  return text;
}

TEST(Recorded, EveryNetHasCaffesLayersAndSplits) {
  ROBUSTA_RECORDED(folder, "MANIFEST.txt");
  int nets = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::golden_dir())) {
    const std::string path = entry.path().string(), suffix = ".names.txt";
    if (!path.ends_with(suffix)) continue;
    const std::string prototxt = path.substr(0, path.size() - suffix.size()) + ".prototxt";
    caffe::NetState state;
    state.set_phase(test::read_file(prototxt).find("# phase: TEST") == std::string::npos ? caffe::TRAIN : caffe::TEST);
    std::istringstream lines(test::read_file(path));
    std::string want;
    for (std::string line; std::getline(lines, line);)
      if (line.rfind("layer\t", 0) == 0) want += line.substr(6) + "\n";
    EXPECT_EQ(layers_of(insert_splits(filter_net(read_net(prototxt), state)).param), want) << path;
    ++nets;
  }
  EXPECT_GT(nets, 10);
}

/// Every recorded net and solver can be read.
TEST(Recorded, EveryPrototxtIsRead) {
  ROBUSTA_RECORDED(folder, "MANIFEST.txt");
  for (const auto& entry : std::filesystem::directory_iterator(test::golden_dir())) {
    const std::string path = entry.path().string();
    if (path.ends_with(".solver.prototxt") || path.ends_with("io__old_solver.prototxt")) {
      EXPECT_NO_THROW(read_solver(path)) << path;
    } else if (path.ends_with(".prototxt")) {
      EXPECT_NO_THROW(read_net(path)) << path;
    }
  }
}

TEST(Recorded, LegacyWeights) {
  ROBUSTA_RECORDED(expected, "io__legacy_v1.bin");
  const test::GoldenFile want = test::read_golden(expected);
  for (const char* file : {"io__legacy_v1.caffemodel", "io__legacy_v1.upgraded.caffemodel"}) {
    const WeightsFile weights = read_weights(recorded(file));
    int compared = 0;
    for (const LayerWeights& layer : weights.layers)
      for (size_t i = 0; i < layer.blobs.size(); ++i) {
        const auto found = want.find("expect:" + layer.name + ":" + std::to_string(i));
        ASSERT_NE(found, want.end());
        EXPECT_TRUE(layer.blobs[i].legacy_dims);
        EXPECT_TRUE(same_shape(layer.blobs[i], found->second.dims));
        EXPECT_EQ(layer.blobs[i].data, found->second.values);
        ++compared;
      }
    EXPECT_EQ(compared, 4) << file;
  }
}

TEST(Recorded, WeightsOfANetAndBackAsTheSameBytes) {
  ROBUSTA_RECORDED(path, "net__lenet.caffemodel");
  const test::GoldenFile want = test::read_golden(recorded("net__lenet.bin"));
  const WeightsFile weights = read_weights(path);
  int compared = 0;
  for (const LayerWeights& layer : weights.layers)
    for (size_t i = 0; i < layer.blobs.size(); ++i, ++compared)
      EXPECT_EQ(layer.blobs[i].data, want.at("param:" + layer.name + ":" + std::to_string(i)).values);
  EXPECT_EQ(compared, 8);
  caffe::NetParameter net;
  read_binary_proto(path, &net, ErrorKind::kModel);
  const test::TempDir dir;
  write_weights(dir / "copy", net);
  EXPECT_TRUE(test::read_file(dir / "copy") == test::read_file(path));
}

TEST(Recorded, TextOfAState) {
  ROBUSTA_RECORDED(path, "solver__resume_adam_iter_5.solverstate");
  caffe::SolverState state = read_state(path);
  for (caffe::BlobProto& blob : *state.mutable_history()) {
    blob_from_proto(blob);
    blob.clear_data();
  }
  EXPECT_EQ(text_form(state), test::read_file(recorded("solver__resume_adam_iter_5.solverstate.nodata.txt")));
}

TEST(Recorded, MeanImage) {
  ROBUSTA_RECORDED(path, "samples/mean.binaryproto");
  const test::GoldenArray want = test::read_golden(recorded("io__mean_binaryproto.bin")).at("expect:mean");
  const BlobData mean = read_mean_file(path);
  EXPECT_EQ(mean.shape, (std::vector<int64_t>{3, 9, 12}));
  EXPECT_EQ(mean.data, want.values);
}

}  // namespace
}  // namespace robusta
