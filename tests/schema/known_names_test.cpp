// Names of other Caffes: absent, not unknown.
#include "schema/known_names.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "schema/read_text.h"
#include "support/errors.h"
#include "support/files.h"

namespace robusta::test {
namespace {

Error of_net(const std::string& text) {
  return error_of([&] { parse_net(text, "n.prototxt"); });
}

TEST(KnownNames, FieldsOfForksAreAbsent) {
  const Error error = of_net("layer { name: 'p' pooling_param {\n ceil_mode: false } }");
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(std::string(error.what()),
            "n.prototxt:2: layer \"p\": field \"ceil_mode\" (converters from PyTorch) is not in this build; write "
            "round_mode: CEIL for ceil_mode: true, round_mode: FLOOR for ceil_mode: false");
  EXPECT_EQ(of_net("layer { bn_param { } }").kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(of_net("layer { convolution_param { pad_t: 1 } }").kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(of_net("layer { pooling_param { hole: 1 } }").kind(), ErrorKind::kConfig) << "another message's";
}

TEST(KnownNames, ValuesOfForksAreAbsent) {
  EXPECT_EQ(of_net("layer { pooling_param { pool: AVE_EXC_PAD } }").kind(), ErrorKind::kUnsupported);
  const Error old = of_net("layers { name: 'i' type: INTERP }");
  EXPECT_EQ(old.kind(), ErrorKind::kUnsupported);
  EXPECT_TRUE(contains(old.what(), "layer type \"INTERP\" (DeepLab) is not in this build")) << old.what();
}

TEST(KnownNames, ALabelMapIsNoNet) {
  const Error error = of_net("item {\n name: 'none_of_the_above'\n label: 0 }");
  EXPECT_EQ(error.kind(), ErrorKind::kConfig);
  EXPECT_TRUE(contains(error.what(), "this is a label map, which names classes")) << error.what();
  EXPECT_TRUE(contains(error.what(), "a net is wanted here")) << error.what();
}

TEST(KnownNames, HaveEveryLayerOfTheThreeForks) {
  ROBUSTA_SHARED_FILE(table, "facts/layers.tsv");
  std::ifstream file(table);
  std::string line;
  std::getline(file, line);
  int rows = 0;
  for (; std::getline(file, line); ++rows) {
    const std::string type = line.substr(0, line.find('\t'));
    EXPECT_TRUE(who_knows_layer(type)) << type;
  }
  EXPECT_GT(rows, 80);
}

TEST(KnownNames, HaveEveryRule) {
  for (const char* rule : {"SGD", "Nesterov", "AdaGrad", "RMSProp", "AdaDelta", "Adam", "SAG"}) {
    EXPECT_TRUE(who_knows_rule(rule)) << rule;
  }
  EXPECT_FALSE(who_knows_rule("SGDD"));
  EXPECT_FALSE(who_knows_layer("Poolling"));
}

}  // namespace
}  // namespace robusta::test
