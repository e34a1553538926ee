// Replays the recorded one-layer cases with each kernel that offers itself, outside of any net.

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "support/golden_file.h"
#include "support/kernel_checks.h"

namespace robusta::test::golden_layers_test {
namespace {

struct GoldenCase {
  std::string name, backend;
};

void PrintTo(const GoldenCase& golden, std::ostream* out) { *out << golden.name << " " << golden.backend; }

/// The layer called "layer" in the prototxt of a case, without what only a net understands.
caffe::LayerParameter layer_of(const std::string& name) {
  std::ifstream in(golden_dir() / (name + ".prototxt"));
  std::stringstream text;
  text << in.rdbuf();
  caffe::NetParameter net;
  if (!google::protobuf::TextFormat::ParseFromString(text.str(), &net)) ADD_FAILURE() << "cannot parse " << name;
  for (caffe::LayerParameter& layer : *net.mutable_layer()) {
    if (layer.name() != "layer") continue;
    // The cases name files by where they lie themselves.
    if (layer.infogain_loss_param().has_source()) {
      layer.mutable_infogain_loss_param()->set_source(golden_dir() / layer.infogain_loss_param().source());
    }
    return layer;
  }
  return {};
}

/// Each recorded case of a known layer type, with each backend of that type. Sources have no kernels.
std::vector<GoldenCase> golden_cases() {
  std::vector<GoldenCase> cases;
  if (!std::filesystem::is_directory(golden_dir())) return cases;
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(golden_dir())) {
    if (entry.path().extension() == ".bin") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    const std::string type = name.substr(0, name.find("__"));
    if (type == "HDF5Output") continue;  // it has no tops; golden_test looks at the file that a net writes
    for (const KernelCandidate* candidate : kernel_candidates(type, "cpu")) cases.push_back({name, candidate->backend});
  }
  return cases;
}

class GoldenLayers : public testing::TestWithParam<GoldenCase> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GoldenLayers);

/// The arrays prefix0, prefix1, ... as far as they go.
Arrays arrays_of(const GoldenFile& file, const std::string& prefix) {
  Arrays arrays;
  for (size_t i = 0; file.count(prefix + std::to_string(i)) > 0; ++i) {
    const std::vector<float>& values = file.at(prefix + std::to_string(i)).values;
    arrays.emplace_back(values.begin(), values.end());
  }
  return arrays;
}

/// |got - want| <= 1e-5 * max|want| + 1e-6 for each array that was recorded.
void expect_recorded(const GoldenFile& file, const std::string& prefix, const Arrays& got) {
  for (size_t i = 0; i < got.size(); ++i) {
    const auto found = file.find(prefix + std::to_string(i));
    if (found == file.end()) continue;
    const std::vector<float>& want = found->second.values;
    expect_near(got[i], Array(want.begin(), want.end()), 1e-5, found->first);
  }
}

TEST_P(GoldenLayers, Replay) {
  const GoldenFile file = read_golden(golden_dir() / (GetParam().name + ".bin"));
  const caffe::LayerParameter layer = layer_of(GetParam().name);
  const Arrays bottoms = arrays_of(file, "bottom_"), params = arrays_of(file, "param_");
  const Arrays top_diffs = arrays_of(file, "top_diff_");
  KernelCase what;
  what.layers = {layer.DebugString()};
  what.phase = file.at("phase").values[0] == 0 ? caffe::TRAIN : caffe::TEST;
  for (size_t i = 0; i < bottoms.size(); ++i) {
    what.bottoms.push_back(Shape(file.at("bottom_" + std::to_string(i)).dims));
  }
  what.bottom_values = [&](int bottom, const Shape&) { return bottoms[static_cast<size_t>(bottom)]; };
  KernelHarness harness(what, {.backend = GetParam().backend, .dtype = DType::kF32, .backward = !top_diffs.empty()});
  if (!harness.made()) GTEST_SKIP() << GetParam().backend << " declines: " << harness.why_not();

  ASSERT_EQ(harness.param_decls().size(), params.size());
  for (size_t i = 0; i < params.size(); ++i) {
    EXPECT_EQ(harness.param_decls()[i].shape, Shape(file.at("param_" + std::to_string(i)).dims));
  }
  for (size_t i = 0; i < harness.top_shapes().size(); ++i) {
    EXPECT_EQ(harness.top_shapes()[i], Shape(file.at("top_" + std::to_string(i)).dims));
  }
  harness.forward(bottoms, params);
  expect_recorded(file, "top_", harness.tops());
  expect_recorded(file, "param_after_", harness.params());
  if (!top_diffs.empty()) {
    harness.backward(top_diffs);
    expect_recorded(file, "bottom_diff_", harness.bottom_diffs());
    Arrays param_diffs = harness.param_diffs();
    for (size_t i = 0; i < param_diffs.size(); ++i) {
      if (harness.param_decls()[i].statistic) param_diffs[i] = Array(params[i].size(), 0.0);  // never written
    }
    expect_recorded(file, "param_diff_", param_diffs);
  }
  EXPECT_EQ(harness.damage(), "");
}

INSTANTIATE_TEST_SUITE_P(, GoldenLayers, testing::ValuesIn(golden_cases()),
                         [](const auto& info) { return info.param.name + "__" + info.param.backend; });

TEST(GoldenFolder, Exists) {
  if (!std::filesystem::is_directory(golden_dir())) GTEST_SKIP() << "no recorded cases in " << golden_dir();
  EXPECT_FALSE(golden_cases().empty());
}

TEST(GoldenFileTest, ReadsBackWhatWasWritten) {
  const GoldenFile file{{"scalar", {{}, {2.5f}}}, {"matrix", {{2, 3}, {1, 2, 3, 4, 5, 6}}}, {"empty", {{0, 4}, {}}}};
  const auto path = std::filesystem::temp_directory_path() / "robusta_golden_file_test.bin";
  write_golden(path, file);
  const GoldenFile back = read_golden(path);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  EXPECT_THROW(read_golden(path), std::runtime_error);
  std::filesystem::remove(path);
  ASSERT_EQ(back.size(), file.size());
  for (const auto& [name, array] : file) {
    EXPECT_EQ(back.at(name).dims, array.dims) << name;
    EXPECT_EQ(back.at(name).values, array.values) << name;
  }
}

}  // namespace
}  // namespace robusta::test::golden_layers_test
