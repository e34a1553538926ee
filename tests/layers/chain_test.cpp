// Patterns of chains: which rows of layers they take, and where links find their parameters and bottoms.

#include "layers/kit/chain.h"

#include <gtest/gtest.h>

#include "layers/kit/roles.h"
#include "support/kernel_harness.h"

namespace robusta::test::chain_test {
namespace {

class ChainHead : public Layer {
 public:
  using Layer::Layer;
  Arity arity() const override { return {}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override { return bottoms; }
  std::vector<ParamDecl> params() const override { return {{Shape{}, nullptr}, {Shape{}, nullptr}}; }
};

ROBUSTA_REGISTER_LAYER("ChainHead", ChainHead);

const auto kPattern = chain(of<ChainHead>("ChainHead"), maybe<ChannelNorm>(), maybe_then<ChannelScale>(),
                            joining(maybe<Joint>()), maybe<Rectifier>());

const char* const kHead = "type: 'ChainHead' bottom: 'x'";
const char* const kNorm = "type: 'BatchNorm' bottom: 'x'";
const char* const kScale = "type: 'Scale' bottom: 'x'";
const char* const kScaleByBottom = "type: 'Scale' bottom: 'x' bottom: 'scale' scale_param { axis: 0 }";
const char* const kSum = "type: 'Eltwise' bottom: 'a' bottom: 'b' bottom: 'c'";
const char* const kRelu = "type: 'ReLU' bottom: 'x'";

/// Layers and a request for them; `chain_bottoms` as in KernelRequest.
struct Row {
  explicit Row(const std::vector<std::string>& texts, const std::vector<int>& chain_bottoms = {}) {
    for (const std::string& text : texts) {
      layers.push_back(make_layer(parse_layer(text)));
      const auto bottoms = static_cast<size_t>(std::max(1, layers.back()->param().bottom_size()));
      layers.back()->infer_tops(std::vector<Shape>(bottoms, Shape{2, 3, 4}));
      request.layers.push_back(layers.back().get());
      const size_t own = layers.size() == 1 ? bottoms : bottoms - 1;
      request.bottoms.insert(request.bottoms.end(), own, {Shape{2, 3, 4}, DType::kF32, nullptr});
    }
    request.chain_bottoms = chain_bottoms;
  }
  std::vector<int> places() const { return static_cast<const ChainPattern&>(kPattern).match(request.layers); }
  bool begins() const { return static_cast<const ChainPattern&>(kPattern).begins_with(request.layers); }

  std::vector<std::unique_ptr<Layer>> layers;
  KernelRequest request;
};

using Places = std::vector<int>;

TEST(ChainPattern, TakesLinksInOrder) {
  EXPECT_EQ(Row({kHead}).places(), (Places{0, -1, -1, -1, -1}));
  EXPECT_EQ(Row({kHead, kRelu}).places(), (Places{0, -1, -1, -1, 1}));
  EXPECT_EQ(Row({kHead, kNorm, kScale, kSum, kRelu}).places(), (Places{0, 1, 2, 3, 4}));
  EXPECT_EQ(Row({kHead, kSum}).places(), (Places{0, -1, -1, 1, -1}));
}

TEST(ChainPattern, LeavesOthers) {
  EXPECT_EQ(Row({kRelu}).places(), Places{});
  EXPECT_EQ(Row({kHead, kHead}).places(), Places{});
  EXPECT_EQ(Row({kHead, kRelu, kNorm}).places(), Places{});
  EXPECT_EQ(Row({kHead, kRelu, kRelu}).places(), Places{});
  EXPECT_EQ(Row({kHead, kScale}).places(), Places{}) << "a Scale needs the BatchNorm before it";
  EXPECT_EQ(Row({kHead, kNorm, kScaleByBottom}).places(), Places{}) << "a bottom from elsewhere";
}

TEST(ChainPattern, KnowsBeginnings) {
  const ChainPattern pair = chain(of<ChainHead>("ChainHead"), one<Rectifier>());
  const Row head({kHead}), whole({kHead, kRelu}), other({kHead, kNorm});
  EXPECT_TRUE(pair.begins_with(head.request.layers));
  EXPECT_EQ(pair.match(head.request.layers), Places{});
  EXPECT_TRUE(pair.begins_with(whole.request.layers));
  EXPECT_FALSE(pair.begins_with(other.request.layers));
  EXPECT_FALSE(pair.takes("ChainHead"));
  EXPECT_TRUE(static_cast<const ChainPattern&>(kPattern).takes("ChainHead"));
  EXPECT_TRUE(Row({kHead, kNorm, kSum}).begins());
}

TEST(Chain, LinksFindTheirParameters) {
  const Row row({kHead, kNorm, kScale, kRelu});
  const auto [head, norm, scale, sum, relu] = kPattern.links(row.request);
  EXPECT_FALSE(sum);
  ASSERT_TRUE(head && norm && scale && relu);
  EXPECT_EQ(head.param(1), 1);
  EXPECT_EQ(norm.param(0), 2);
  EXPECT_EQ(scale.param(0), 5);
  EXPECT_EQ(relu->slope(), 0);
  EXPECT_EQ(norm.get(), dynamic_cast<const ChannelNorm*>(row.layers[1].get()));
  EXPECT_EQ(head.bottom(0), 0);
  EXPECT_EQ(norm.bottom(0), -1);
}

TEST(Chain, LinksFindTheirBottoms) {
  for (const int from_chain : {0, 1, 2}) {
    const Row row({kHead, kSum, kRelu}, {-1, from_chain, 0});
    const auto [head, norm, scale, sum, relu] = kPattern.links(row.request);
    ASSERT_TRUE(sum);
    EXPECT_EQ(head.bottom(0), 0);
    for (int b = 0, next = 1; b < 3; ++b) EXPECT_EQ(sum.bottom(b), b == from_chain ? -1 : next++) << from_chain;
    EXPECT_EQ(relu.bottom(0), -1);
  }
}

}  // namespace
}  // namespace robusta::test::chain_test
