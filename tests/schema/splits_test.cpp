#include "schema/splits.h"

#include <gtest/gtest.h>

#include "base/str.h"
#include "schema/read_text.h"
#include "support/errors.h"

namespace robusta {
namespace {

/// One line per layer: "name: bottoms -> tops (loss weights)".
std::string summary(const NetDef& net) {
  std::string text;
  for (const caffe::LayerParameter& layer : net.param.layer()) {
    text += layer.name() + ":";
    for (const std::string& bottom : layer.bottom()) text += " " + bottom;
    text += " ->";
    for (const std::string& top : layer.top()) text += " " + top;
    for (const float weight : layer.loss_weight()) text += str(" *", weight);
    text += "\n";
  }
  return text;
}

std::string split(const std::string& text) {
  const NetDef net = insert_splits(parse_net(text, "n"));
  EXPECT_EQ(net.sources.size(), static_cast<size_t>(net.param.layer_size()));
  return summary(net);
}

Error failure(const std::string& text) {
  const Error error = test::error_of([&] { insert_splits(parse_net(text, "n")); });
  EXPECT_EQ(error.kind(), ErrorKind::kConfig);
  return error;
}

TEST(Splits, NoneWhereEveryBlobHasOneConsumer) {
  EXPECT_EQ(split("layer { name: 'a' top: 'x' top: 'y' } layer { name: 'b' bottom: 'x' top: 'z' }"),
            "a: -> x y\nb: x -> z\n");
}

TEST(Splits, NamesThemAsCaffeDoes) {
  EXPECT_EQ(split("layer { name: 'a' top: 'w' top: 'x' } layer { name: 'b' bottom: 'x' top: 'y' }"
                  "layer { name: 'c' bottom: 'y' bottom: 'x' bottom: 'w' top: 'z' }"),
            "a: -> w x\nx_a_1_split: x -> x_a_1_split_0 x_a_1_split_1\nb: x_a_1_split_0 -> y\n"
            "c: y x_a_1_split_1 w -> z\n");
}

TEST(Splits, HangOnTheLastLayerThatWroteTheBlob) {
  EXPECT_EQ(split("layer { name: 'a' top: 'x' } layer { name: 'r' bottom: 'x' top: 'x' }"
                  "layer { name: 'b' bottom: 'x' top: 'y' } layer { name: 'c' bottom: 'x' top: 'z' }"),
            "a: -> x\nr: x -> x\nx_r_0_split: x -> x_r_0_split_0 x_r_0_split_1\nb: x_r_0_split_0 -> y\n"
            "c: x_r_0_split_1 -> z\n");
}

TEST(Splits, TheSameBlobTwiceInOneLayerIsTwoUses) {
  EXPECT_EQ(split("layer { name: 'a' top: 'x' } layer { name: 'b' bottom: 'x' bottom: 'x' top: 'y' }"),
            "a: -> x\nx_a_0_split: x -> x_a_0_split_0 x_a_0_split_1\nb: x_a_0_split_0 x_a_0_split_1 -> y\n");
}

TEST(Splits, AnExplicitLossWeightIsUseZero) {
  EXPECT_EQ(split("layer { name: 'l' top: 'x' loss_weight: 2 } layer { name: 'b' bottom: 'x' top: 'y' }"),
            "l: -> x\nx_l_0_split: x -> x_l_0_split_0 x_l_0_split_1 *2 *0\nb: x_l_0_split_1 -> y\n");
  EXPECT_EQ(split("layer { name: 'l' top: 'x' loss_weight: 0 } layer { name: 'b' bottom: 'x' top: 'y' }"),
            "l: -> x *0\nb: x -> y\n");
  EXPECT_EQ(split("layer { name: 'l' top: 'x' loss_weight: 2 }"), "l: -> x *2\n") << "nobody else uses it";
}

TEST(Splits, PointBackToTheLayerThatMadeTheBlob) {
  const NetDef net = insert_splits(
      parse_net("\nlayer { name: 'a' top: 'x' }\nlayer { name: 'b' bottom: 'x' bottom: 'x' top: 'y' }", "n"));
  EXPECT_EQ(net.sources[1].where(), "n:2");
  EXPECT_EQ(net.sources[2].where("bottom[1]"), "n:3");
}

TEST(Splits, RefuseAnUnknownBottom) {
  const Error error = failure("layer { name: 'a' top: 'pool1' }\nlayer { name: 'conv2'\n bottom: 'poool1' top: 'y' }");
  EXPECT_STREQ(error.what(),
               "n:3: layer \"conv2\": unknown bottom blob \"poool1\" (did you mean \"pool1\"?); "
               "a bottom is a top of a layer above, in this phase");
}

TEST(Splits, RefuseABottomThatAnotherPhaseMakes) {
  const NetDef net = parse_net(
      "layer { name: 'data' top: 'label' include { phase: TRAIN } }\nlayer { name: 'loss' bottom: 'label' top: 'y' }",
      "n");
  caffe::NetState state;
  state.set_phase(caffe::TEST);
  const Error error = test::error_of([&] { net_in_state(net, state); });
  EXPECT_STREQ(error.what(),
               "n:2: layer \"loss\": bottom \"label\" is made by layer \"data\" (n:1), which is not in the net here: "
               "The NetState phase (1) differed from the phase (0) specified by a rule in layer data; "
               "give both layers the same include and exclude rules");
}

TEST(Splits, RefuseABottomThatIsMadeLater) {
  const Error error = failure("layer { name: 'a' bottom: 'x' top: 'y' }\nlayer { name: 'b' top: 'x' }");
  EXPECT_STREQ(error.what(),
               "n:1: layer \"a\": bottom \"x\" is made only later, by layer \"b\" (n:2); move that layer up");
}

TEST(Splits, NameTheCycle) {
  EXPECT_TRUE(
      test::contains(failure("layer { name: 'in' top: 'i' } layer { name: 'a' bottom: 'i' bottom: 'z' top: 'x' }"
                             "layer { name: 'b' bottom: 'x' top: 'y' } layer { name: 'c' bottom: 'y' top: 'z' }")
                         .what(),
                     "layer \"a\": the layers form a cycle: a -> b -> c -> a; "));
  EXPECT_TRUE(test::contains(failure("layer { name: 'a' bottom: 'y' top: 'x' top: 'y' }").what(), "a cycle: a -> a"));
}

TEST(Splits, RefuseADuplicateTop) {
  const Error error = failure("layer { name: 'a' top: 'x' }\nlayer { name: 'b'\n top: 'x' }");
  EXPECT_TRUE(test::contains(error.what(), "n:3: layer \"b\": top \"x\" is already made by layer \"a\""));
  EXPECT_TRUE(test::contains(failure("layer { name: 'a' top: 'x' top: 'x' }").what(), "already made by layer \"a\""));
  // In-place means the same index: bottom 1 as top 0 is another blob of the same name.
  EXPECT_TRUE(test::contains(failure("layer { name: 'a' top: 'x' top: 'y' }"
                                     "layer { name: 'b' bottom: 'x' bottom: 'y' top: 'y' }")
                                 .what(),
                             "already made"));
}

TEST(Splits, RefuseToOverwriteWhatOthersRead) {
  const Error error = failure(
      "layer { name: 'a' top: 'x' } layer { name: 'b' bottom: 'x' top: 'y' }"
      "layer { name: 'relu' bottom: 'x' top: 'x' }");
  EXPECT_TRUE(
      test::contains(error.what(), "layer \"relu\": the layer overwrites blob \"x\" in-place, but other layers"));
}

}  // namespace
}  // namespace robusta
