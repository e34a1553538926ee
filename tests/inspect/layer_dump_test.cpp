// caffe collect and compare: one pass of a net beside another one of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "inspect/layer_dump.h"
#include "schema/blob_proto.h"
#include "solver/process.h"
#include "support/errors.h"
#include "support/nets.h"

namespace robusta::test::layer_dump_test {
namespace {

const char* const kNet = R"(name: 'toy'
  layer { name: 'in' type: 'DummyData' top: 'x' top: 'label' dummy_data_param { shape { dim: 4 dim: 3 dim: 6 dim: 6 }
          shape { dim: 4 } data_filler { type: 'gaussian' std: 1 } data_filler { type: 'constant' value: 1 } } }
  layer { name: 'a/conv' type: 'Convolution' bottom: 'x' top: 'c'
          convolution_param { num_output: 4 kernel_size: 3 weight_filler { type: 'xavier' } } }
  layer { name: 'relu' type: 'ReLU' bottom: 'c' top: 'c' }
  layer { name: 'sigmoid' type: 'Sigmoid' bottom: 'c' top: 'c' }
  layer { name: 'ip' type: 'InnerProduct' bottom: 'c' top: 'ip'
          inner_product_param { num_output: 5 weight_filler { type: 'xavier' } } }
  layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' }
)";

NetOptions options_of(const std::string& kernels, uint64_t seed = 1) {
  NetOptions options;
  options.keep_blobs = true;
  options.kernels = kernels;
  options.seed = seed;
  options.poison = true;
  return options;
}

struct Compared {
  bool differs;
  std::string text;
};

Compared compare(Net& net, const std::string& folder, const CompareOptions& options) {
  std::ostringstream out;
  const bool differs = compare_pass(net, folder, options, out);
  return {differs, out.str()};
}

TEST(LayerDump, ReferenceKernelsBesideTheChosenOnes) {
  const TempDir folder;
  Net reference(net_def(kNet), options_of("reference")), chosen(net_def(kNet), options_of("auto"));
  // 4 parameters and their gradients; 2 tops of the data and one of each other layer; 4 gradients of bottoms.
  EXPECT_EQ(collect_pass(reference, folder / "out"), 4 + 4 + 2 + 5 + 4);
  const Compared said = compare(chosen, folder / "out", {.epsilon = 1e-4, .output = folder / "errors"});
  EXPECT_FALSE(said.differs) << said.text;
  EXPECT_FALSE(std::filesystem::exists(folder / "errors"));
  EXPECT_TRUE(contains(said.text, "differ by more than 0.0001"));
}

TEST(LayerDump, ParametersComeFromTheFolder) {
  const TempDir folder;
  Net one(net_def(kNet), options_of("reference", 1)), other(net_def(kNet), options_of("reference", 1));
  collect_pass(one, folder / "out");
  for (const ParamPtr& param : other.params())
    other.blobs().write_param(*param, std::vector<float>(static_cast<size_t>(param->desc.shape.count()), 7));
  const Compared said = compare(other, folder / "out", {.epsilon = 0});
  EXPECT_FALSE(said.differs) << said.text;
  EXPECT_TRUE(contains(said.text, "0 of 15 arrays differ by more than 0; the largest error is 0\n"));
}

TEST(LayerDump, WhatDiffersIsListed) {
  const TempDir folder;
  Net net(net_def(kNet), options_of("reference"));
  collect_pass(net, folder / "out");
  std::string changed;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "out")) {
    const std::string name = entry.path().filename();
    if (name.find("ip_top_ip") != std::string::npos) changed = entry.path();
    EXPECT_EQ(entry.path().parent_path().string(), folder / "out") << "a/conv is no folder";
  }
  ASSERT_FALSE(changed.empty());
  BlobData blob = read_array_file(changed, "array");
  for (float& value : blob.data) value += 10;
  caffe::BlobProto proto;
  blob_to_proto(blob.shape, blob.data.data(), &proto);
  write_binary_proto(changed, proto);
  const Compared said = compare(net, folder / "out", {.output = folder / "errors"});
  EXPECT_TRUE(said.differs);
  EXPECT_TRUE(contains(said.text, "1 of 15 arrays differ")) << said.text;
  EXPECT_TRUE(matches(said.text, "ip +top +ip +20 +20 ")) << said.text;
  const std::string list = folder / "errors/" + std::filesystem::path(changed).stem().string() + ".txt";
  const std::string listed = read_file(list);
  EXPECT_EQ(std::count(listed.begin(), listed.end(), '\n'), 22) << listed;
  const Compared fast = compare(net, folder / "out", {.most_listed = 3, .stop_there = true, .output = folder / "fast"});
  EXPECT_TRUE(contains(fast.text, "at least 3")) << fast.text;
}

TEST(LayerDump, FoldersOfOthers) {
  const TempDir folder;
  Net net(net_def(kNet), options_of("reference"));
  EXPECT_EQ(error_of([&] { compare(net, folder / "absent", {}); }).kind(), ErrorKind::kData);
  std::filesystem::create_directory(folder / "full");
  write_file(folder / "full/mine", "keep me");
  EXPECT_EQ(error_of([&] { collect_pass(net, folder / "full"); }).kind(), ErrorKind::kOutput);
  write_file(folder / "full/INDEX.txt", "../mine\tparameter\tip\t0\n");
  EXPECT_EQ(error_of([&] { compare(net, folder / "full", {}); }).kind(), ErrorKind::kData);
  write_file(folder / "full/INDEX.txt", "mine\tparameter\ta/conv\t0\n");
  EXPECT_EQ(error_of([&] { compare(net, folder / "full", {}); }).kind(), ErrorKind::kData);
}

TEST(LayerDump, Programs) {
  const TempDir folder;
  write_file(folder / "net.prototxt", kNet);
  const std::string here = folder.path();
  const Finished collected = run_caffe_program(here, {"collect", "-model=net.prototxt", "-kernels=reference"});
  EXPECT_EQ(collected.code, 0) << collected.log;
  EXPECT_TRUE(std::filesystem::exists(folder / "collect_out/INDEX.txt"));
  const Finished equal = run_caffe_program(here, {"compare", "-model=net.prototxt", "-autotune=false"});
  EXPECT_EQ(equal.code, 0) << equal.out << equal.log;
  const Finished strict = run_caffe_program(here, {"compare", "-model=net.prototxt", "-epsilon=0", "-autotune=false"});
  EXPECT_EQ(strict.code, 1) << "another order of sums";
  EXPECT_TRUE(std::filesystem::exists(folder / "compare_out"));
}

}  // namespace
}  // namespace robusta::test::layer_dump_test
