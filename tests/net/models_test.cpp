// Every definition in models/ can be read and planned, for training and for testing, without its data.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "net/net.h"
#include "schema/filter.h"
#include "schema/read_text.h"
#include "schema/splits.h"
#include "support/places.h"

namespace robusta::test {
namespace {

const std::filesystem::path kModels = std::filesystem::path(source_dir()) / "models";

/// Paths of the nets below models/, sorted.
std::vector<std::string> nets() {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kModels)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with("train_val.prototxt") || name == "deploy.prototxt") {
      found.push_back(std::filesystem::relative(entry.path(), kModels).string());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

Net planned(const std::string& path, caffe::Phase phase) {
  caffe::NetState state;
  state.set_phase(phase);
  NetOptions options;
  options.phase = phase;
  options.backward = phase == caffe::TRAIN;
  options.plan_only = true;
  options.data.synthesize_missing = true;
  return Net(insert_splits(filter_net(read_net((kModels / path).string()), state)), options);
}

class Models : public testing::TestWithParam<std::string> {};

TEST_P(Models, IsPlanned) {
  const bool deploy = GetParam().ends_with("deploy.prototxt");
  const Net test = planned(GetParam(), caffe::TEST);
  EXPECT_GT(test.plan().arena_bytes, 0U);
  EXPECT_EQ(test.blobs().shape(deploy ? "data" : "label")[0], test.batch());
  if (deploy) return;

  const Net train = planned(GetParam(), caffe::TRAIN);
  EXPECT_LT(train.plan().backward_begin, train.plan().steps.end_id());
  // All that is learned gets a gradient.
  for (const ParamPtr& param : train.params()) {
    const auto& completed = train.plan().completion;
    EXPECT_TRUE(param->lr_mult == 0 || std::count(completed.begin(), completed.end(), param.get()) == 1);
  }
  // Training learns what testing needs.
  EXPECT_GE(train.params().size(), test.params().size());
}

INSTANTIATE_TEST_SUITE_P(All, Models, testing::ValuesIn(nets()), [](const auto& info) {
  std::string name = std::filesystem::path(info.param).replace_extension().string();
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
});

TEST(ModelsFolder, HasThem) { EXPECT_GE(nets().size(), 17U); }

}  // namespace
}  // namespace robusta::test
