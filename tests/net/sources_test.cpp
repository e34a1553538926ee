// A net builds each of its layers once, and each source opens what it reads once.

#include <gtest/gtest.h>

#include "net/net.h"
#include "support/log_lines.h"
#include "support/nets.h"

namespace robusta::test {
namespace {

struct Counts {
  int built = 0, opened = 0;
};
Counts counts;

/// A source of zeros that counts.
class CountedSource : public SourceLayer {
 public:
  explicit CountedSource(const caffe::LayerParameter& param) : SourceLayer(param) { ++counts.built; }
  Arity arity() const override { return {.min_bottoms = 0, .max_bottoms = 0, .min_tops = 1, .max_tops = 1}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>&) override { return {{batch_, 3}}; }
  void open(const SourceOptions&) override { ++counts.opened; }
  void fill(std::span<const Tensor> tops, const Pass&) override {
    std::fill_n(static_cast<char*>(tops[0].data), tops[0].desc.bytes(), 0);
  }
  void set_batch(int64_t batch) override { batch_ = batch; }

 private:
  int64_t batch_ = 2;
};

ROBUSTA_REGISTER_LAYER("CountedSource", CountedSource);

size_t times(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

constexpr char kCounted[] = R"(
layer { name: "in" type: "CountedSource" top: "x" }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "y" inner_product_param { num_output: 3 } }
layer { name: "loss" type: "EuclideanLoss" bottom: "y" bottom: "x" }
)";

TEST(Sources, AreBuiltAndOpenedOnce) {
  for (const bool plan_only : {false, true}) {
    counts = {};
    NetOptions options;
    options.plan_only = plan_only;
    options.batch = 4;
    const Net net(net_def(kCounted), options);
    EXPECT_EQ(counts.built, 1);
    EXPECT_EQ(counts.opened, 1);
    EXPECT_EQ(net.batch(), 4);
    EXPECT_EQ(net.graph().def.param.layer(net.graph().def.param.layer_size() - 1).top(0), kAutomaticTop);
  }
}

TEST(Sources, SayOnceWhatTakesTheirPlace) {
  const LogLines lines;
  NetOptions options;
  options.data.synthesize_missing = true;
  const Net net(net_def(R"(
layer { name: "in" type: "Data" top: "x" top: "l" data_param { source: "/nowhere/mnist" batch_size: 2 } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "y" inner_product_param { num_output: 3 } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "y" bottom: "l" }
)"),
                options);
  EXPECT_EQ(times(lines.text(), "synthetic input"), 1U) << lines.text();
}

/// A source of one top whose batches count up, lent from the two buffers that it fills in turn.
class LendingSource : public SourceLayer {
 public:
  using SourceLayer::SourceLayer;
  Arity arity() const override { return {.min_bottoms = 0, .max_bottoms = 0, .min_tops = 1, .max_tops = 1}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>&) override { return {{2, 3}}; }
  void set_batch(int64_t) override {}
  bool lends_batches() const override { return true; }
  bool prepare(const Pass& pass) override {
    batch_ = &batches_[pass.first_sample / 2 % 2];
    batch_->layout = BatchLayout({Shape{2, 3}});
    batch_->memory = cpu_device().host_memory(batch_->layout.bytes());
    for (int i = 0; i < 6; ++i) batch_->numbers(0)[i] = static_cast<float>(pass.first_sample) + static_cast<float>(i);
    return false;
  }
  Batch* ready() override { return batch_; }
  void fill(std::span<const Tensor> tops, const Pass&) override {
    ++fills;
    for (int i = 0; i < 6; ++i) {
      dispatch(tops[0].desc.dtype, [&](auto t) { tops[0].as<decltype(t)>()[i] = batch_->numbers(0)[i]; });
    }
  }
  static inline int fills = 0;

 private:
  Batch batches_[2];
  Batch* batch_ = nullptr;
};

ROBUSTA_REGISTER_LAYER("LendingSource", LendingSource);

/// Two readers of the batch, one of them by way of a Reshape and an in-place layer, which may write over it.
constexpr char kLending[] = R"(
layer { name: "in" type: "LendingSource" top: "x" }
layer { name: "flat" type: "Reshape" bottom: "x" top: "flat" reshape_param { shape { dim: 6 } } }
layer { name: "relu" type: "ReLU" bottom: "flat" top: "flat" }
layer { name: "up" type: "Power" bottom: "flat" top: "y" power_param { scale: 2 } }
layer { name: "scaled" type: "Power" bottom: "x" top: "z" }
)";

std::vector<float> outputs_of(Net& net) {
  std::vector<float> all;
  for (uint64_t first = 0; first < 12; first += 2) {
    net.forward({.seed = 1, .first_sample = first, .next_sample = first + 2, .batch = 2});
    for (const std::string& blob : net.blobs().outputs()) {
      const std::vector<float> values = net.blobs().read(blob);
      all.insert(all.end(), values.begin(), values.end());
    }
  }
  return all;
}

TEST(Sources, BatchesAreReadWhereTheyLie) {
  const NetDef def = net_def(kLending);
  NetOptions options;
  options.backward = false;
  Net in_place(def, options);
  LendingSource::fills = 0;
  const std::vector<float> lent = outputs_of(in_place);
  EXPECT_EQ(LendingSource::fills, 0);
  options.keep_blobs = true;
  Net copied(def, options);
  EXPECT_EQ(outputs_of(copied), lent);
  EXPECT_EQ(LendingSource::fills, 6);
  options.keep_blobs = false;
  options.dtype = DType::kF64;
  Net wide(def, options);
  EXPECT_EQ(outputs_of(wide), lent);
  EXPECT_EQ(LendingSource::fills, 12);
  EXPECT_LT(in_place.plan().arena_bytes + in_place.plan().persistent_bytes,
            copied.plan().arena_bytes + copied.plan().persistent_bytes);
}

TEST(Sources, ABatchThatIsAnOutputIsCopied) {
  NetOptions options;
  options.backward = false;
  Net net(net_def(R"(layer { name: "in" type: "LendingSource" top: "x" })"), options);
  EXPECT_EQ(net.blobs().read("x"), std::vector<float>(6, 0));
  net.forward({.seed = 1, .first_sample = 4, .next_sample = 6, .batch = 2});
  EXPECT_EQ(net.blobs().read("x"), (std::vector<float>{4, 5, 6, 7, 8, 9}));
}

}  // namespace
}  // namespace robusta::test
