// Fields of forks that the schema reads and nothing computes: refused where they say something.
#include "schema/absent_fields.h"

#include <gtest/gtest.h>

#include <set>

#include "base/str.h"
#include "layers/kit/layer.h"
#include "schema/ignored_fields.h"
#include "schema/read_text.h"
#include "support/errors.h"

namespace robusta::test {
namespace {

using google::protobuf::Descriptor;

TEST(AbsentFields, TheTableNamesFieldsOfTheSchema) {
  const auto* file = caffe::NetParameter::descriptor()->file();
  std::set<std::string> seen;
  for (const AbsentField& row : absent_fields()) {
    const Descriptor* message = file->FindMessageTypeByName(std::string(row.message));
    ASSERT_TRUE(message) << row.message;
    EXPECT_TRUE(message->FindFieldByName(std::string(row.field))) << row.message << "." << row.field;
    EXPECT_TRUE(seen.insert(str(row.message, ".", row.field)).second) << row.field << " is listed twice";
    EXPECT_FALSE(find_ignored(row.message, row.field)) << row.field << " is absent and ignored";
    EXPECT_FALSE(row.whose.empty());
    EXPECT_FALSE(row.fix.empty());
  }
}

TEST(AbsentFields, StopALayerUnlessTheySayTheDefault) {
  const auto refusal_of = [](const std::string& layer) {
    const NetDef net = parse_net("layer { name: 'a' " + layer + " }", "n.prototxt");
    return absent_fields_in(net.param.layer(0)).at(0);
  };
  const Error error = refusal_of("convolution_param { filter_group: 2 }");
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(error.field(), "convolution_param.filter_group");
  EXPECT_EQ(error.cause(), "field \"filter_group\" (C3D) is not in this build");
  EXPECT_EQ(refusal_of("pooling_param { temporal_pad: 1 }").field(), "pooling_param.temporal_pad");
  EXPECT_EQ(refusal_of("detection_output_param { biases: 1 }").field(), "detection_output_param.biases");
  const NetDef same = parse_net(
      "layer { name: 'a' convolution_param { filter_group: 1 temporal_pad: 0 pad: 3 } pooling_param { "
      "pool: AVE } }",
      "n.prototxt");
  EXPECT_TRUE(absent_fields_in(same.param.layer(0)).empty());
}

TEST(AbsentFields, AreAskedForWhenALayerIsMade) {
  const NetDef net =
      parse_net("layer { name: 'a' type: 'Convolution' convolution_param { filter_group: 2 } }", "n.prototxt");
  const Error error = error_of([&] { make_layer(net.param.layer(0)); });
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(error.field(), "convolution_param.filter_group");
}

TEST(AbsentFields, OldLayersOfForksHaveNewNames) {
  const NetDef net = parse_net(
      "layers { name: 'a' type: CONVOLUTION3D convolution_param { num_output: 1 kernel_size: 3 kernel_depth: 3 } }\n"
      "layers { name: 'b' type: BN bn_param { scale_filler { value: 2 } } }\n"
      "layers { name: 'c' type: INTERP strict_dim: false interp_param { zoom_factor: 8 } }\n"
      "layers { name: 'd' type: CROP }",
      "n.prototxt");
  ASSERT_EQ(net.param.layer_size(), 4);
  EXPECT_EQ(net.param.layer(0).type(), "Convolution");
  EXPECT_EQ(net.param.layer(0).convolution_param().kernel_size_size(), 3);
  EXPECT_EQ(net.param.layer(1).type(), "BN");
  EXPECT_EQ(net.param.layer(1).bn_param().scale_filler().value(), 2);
  EXPECT_EQ(net.param.layer(2).interp_param().zoom_factor(), 8);
  EXPECT_FALSE(net.param.layer(2).strict_dim());
  EXPECT_EQ(net.param.layer(3).type(), "AutoCrop") << "theirs has no fields, and finds out where to crop";
}

}  // namespace
}  // namespace robusta::test
