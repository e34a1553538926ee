// MemoryData: samples that a program gives to a net.

#include <gtest/gtest.h>

#include "net/net.h"
#include "support/errors.h"
#include "support/nets.h"

namespace robusta::memory_data_test {
namespace {

using test::contains;
using test::error_of;

NetDef memory_net(const std::string& settings = "batch_size: 2 channels: 1 height: 2 width: 1") {
  return test::net_def("layer { name: 'd' type: 'MemoryData' top: 'x' top: 'l' memory_data_param { " + settings +
                       " } }\nlayer { name: 'p' type: 'Power' bottom: 'x' top: 'y' power_param { scale: 2 } }");
}

Pass nth(uint64_t k, int64_t batch = 2) {
  const auto size = static_cast<uint64_t>(batch);
  return {.seed = 1, .first_sample = k * size, .next_sample = (k + 1) * size, .batch = batch};
}

const std::vector<float> kSix{1, 2, 3, 4, 5, 6}, kLabels{7, 8, 9};

TEST(MemoryDataTest, GoesOverTheSamplesAgainAndAgain) {
  Net net(memory_net(), {});
  net.set_samples("d", kSix, kLabels);
  std::vector<float> y, labels;
  for (uint64_t k = 0; k < 3; ++k) {
    net.forward(nth(k));
    for (const float value : net.blobs().read("y")) y.push_back(value);
    for (const float value : net.blobs().read("l")) labels.push_back(value);
  }
  EXPECT_EQ(y, (std::vector<float>{2, 4, 6, 8, 10, 12, 2, 4, 6, 8, 10, 12}));
  EXPECT_EQ(labels, (std::vector<float>{7, 8, 9, 7, 8, 9}));
  EXPECT_EQ(net.blobs().shape("l"), (Shape{2, 1, 1, 1}));
  EXPECT_EQ(net.graph().nodes[NodeId(0)].source->records(), 3);
}

TEST(MemoryDataTest, DimIsTheShapeOfABatch) {
  Net net(memory_net("dim: 2 dim: 2 dim: 1"), {});
  net.set_samples("d", kSix, kLabels);
  net.forward(nth(0));
  EXPECT_EQ(net.blobs().shape("x"), (Shape{2, 2, 1}));
  EXPECT_EQ(net.blobs().read("y"), (std::vector<float>{2, 4, 6, 8}));
  Net rows(memory_net("dim: 3"), {});
  rows.set_samples("d", kLabels, kLabels);
  rows.forward(nth(0, 3));
  EXPECT_EQ(rows.blobs().shape("x"), (Shape{3}));
  const auto field_of = [](const std::string& settings) {
    return error_of([&] { Net net(memory_net(settings), {}); }).field();
  };
  EXPECT_EQ(field_of("dim: 0 dim: 2"), "memory_data_param.dim");
  EXPECT_EQ(field_of("dim: 2 dim: 0"), "memory_data_param");
  EXPECT_EQ(field_of("dim: 2 dim: 2 batch_size: 3"), "memory_data_param.dim");
  EXPECT_EQ(field_of("dim: 2 dim: 2 channels: 2"), "memory_data_param");
  EXPECT_NE(error_of([&] { Net net(memory_net("dim: 18446744073709551615 dim: 2"), {}); }).kind(),
            ErrorKind::kInternal);
}

TEST(MemoryDataTest, OtherSamplesCountFromTheNextPassOn) {
  NetOptions options;
  options.backward = true;
  options.keep_blobs = true;
  NetDef def = memory_net();
  def.param.set_force_backward(true);
  Net net(def, options);
  net.set_samples("d", kSix, kLabels);
  net.forward(nth(0));
  net.set_samples("d", std::vector<float>{-1, -2}, std::vector<float>{0});
  net.set_samples("d", std::vector<float>{10, 20}, std::vector<float>{5});
  EXPECT_EQ(net.blobs().read("x"), (std::vector<float>{1, 2, 3, 4}));  // what the pass has seen is still there
  net.backward(nth(0), false);
  net.forward(nth(1));
  EXPECT_EQ(net.blobs().read("x"), (std::vector<float>{10, 20, 10, 20}));
  EXPECT_EQ(net.blobs().read("l"), (std::vector<float>{5, 5}));
}

TEST(MemoryDataTest, IsAnErrorWithoutSamples) {
  Net net(memory_net(), {});
  const Error error = error_of([&] { net.forward(nth(0)); });
  EXPECT_EQ(error.kind(), ErrorKind::kConfig);
  EXPECT_EQ(error.layer(), "d");
  EXPECT_TRUE(contains(error.cause(), "no data have been given"));
  net.set_samples("d", kSix, kLabels);
  EXPECT_NO_THROW(net.forward(nth(0)));
}

TEST(MemoryDataTest, SamplesHaveToFit) {
  Net net(memory_net(), {});
  const auto refusal = [&](const std::string& layer, size_t numbers, size_t labels) {
    return error_of([&] { net.set_samples(layer, std::vector<float>(numbers), std::vector<float>(labels)); });
  };
  EXPECT_EQ(refusal("d", 5, 3).kind(), ErrorKind::kUsage);
  EXPECT_EQ(refusal("d", 6, 2).kind(), ErrorKind::kUsage);
  EXPECT_EQ(refusal("d", 0, 0).kind(), ErrorKind::kUsage);
  EXPECT_EQ(refusal("p", 6, 3).kind(), ErrorKind::kUsage);
  EXPECT_TRUE(contains(refusal("nobody", 6, 3).cause(), "nobody"));
}

TEST(MemoryDataTest, SizesThatCannotBe) {
  const auto kind_of = [](const std::string& settings) {
    return error_of([&] { Net(memory_net(settings), {}); }).kind();
  };
  for (const char* settings :
       {"channels: 1 height: 1 width: 1", "batch_size: 1 height: 1 width: 1", "batch_size: 1 channels: 1 height: 1",
        "batch_size: 1 channels: 4294967295 height: 4294967295 width: 4294967295",
        "batch_size: 4294967295 channels: 4294967295 height: 2 width: 2"}) {
    EXPECT_EQ(kind_of(settings), ErrorKind::kConfig) << settings;
  }
  EXPECT_EQ(kind_of("batch_size: 1 channels: 1 height: 1 width: 1 dim: 3"), ErrorKind::kConfig);
}

TEST(MemoryDataTest, IsTimedWithoutSamples) {
  NetOptions options;
  options.data.synthesize_missing = true;
  Net net(memory_net(), options);
  net.forward(nth(0));
  EXPECT_EQ(net.blobs().shape("x"), (Shape{2, 1, 2, 1}));
  EXPECT_EQ(error_of([&] { net.set_samples("d", kSix, kLabels); }).kind(), ErrorKind::kUsage);
}

}  // namespace
}  // namespace robusta::memory_data_test
