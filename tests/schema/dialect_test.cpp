// Names with several meanings: what tells them apart, and what the log says.

#include "schema/dialect.h"

#include <gtest/gtest.h>

#include "schema/read_text.h"
#include "support/errors.h"
#include "support/log_lines.h"

namespace robusta::test::dialect_test {
namespace {

/// The dialect of the process, while it lives.
class Speaking {
 public:
  explicit Speaking(Dialect now) { set_dialect(now); }
  ~Speaking() { set_dialect(Dialect::kNone); }
  Speaking(const Speaking&) = delete;
  Speaking& operator=(const Speaking&) = delete;
};

struct Read {
  std::string net, log;
};

Read read_as(Dialect dialect, const std::string& layer) {
  const Speaking speaking(dialect);
  const LogLines log;
  const std::string net = parse_net("layer { name: 'a' " + layer + " }", "n").param.layer(0).ShortDebugString();
  return {net, log.text()};
}

void expect_taken(Dialect dialect, const std::string& layer, const std::string& field, const std::string& line) {
  const Read read = read_as(dialect, layer);
  EXPECT_TRUE(contains(read.net, field)) << read.net;
  EXPECT_TRUE(contains(read.log, line)) << read.log;
}

TEST(DialectTest, BnWithoutAFieldThatTells) {
  const std::string one = "1 layer of type BN: taken as ";
  expect_taken(Dialect::kNone, "type: 'BN'", "type: \"BN\"", one + "SegNet's (as no field tells");
  EXPECT_FALSE(contains(read_as(Dialect::kNone, "type: 'BN'").net, "bn_mode"));
  expect_taken(Dialect::kSegNet, "type: 'BN'", "bn_mode: LEARN", one + "SegNet's (by -dialect)");
  expect_taken(Dialect::kPspNet, "type: 'BN'", "frozen: false", one + "PSPNet's (by -dialect)");
  expect_taken(Dialect::kWindows, "type: 'BN'", "var_eps: ", one + "caffe-windows' (by -dialect)");
  const std::string shared = "type: 'BN' bn_param { scale_filler { value: 2 } }";
  expect_taken(Dialect::kWindows, shared, "var_eps: ", one + "caffe-windows' (by -dialect)");
  expect_taken(Dialect::kPspNet, shared, "scale_filler", one + "SegNet's (as no field tells");
  expect_taken(Dialect::kNvidia, "type: 'BN'", "type", one + "SegNet's (as no field tells");
}

TEST(DialectTest, InfogainLossHasASoftmaxInside) {
  const auto warned = [](Dialect dialect) {
    return contains(read_as(dialect, "type: 'InfogainLoss'").log,
                    "n:1: layer \"a\": InfogainLoss has a softmax inside");
  };
  EXPECT_TRUE(warned(Dialect::kNvidia));
  EXPECT_FALSE(warned(Dialect::kIntel));
  EXPECT_FALSE(warned(Dialect::kNone));
}

TEST(DialectTest, FieldsAreStrongerThanTheFlag) {
  const std::string one = "1 layer of type BN: taken as ";
  expect_taken(Dialect::kPspNet, "type: 'BN' bn_param { bn_mode: INFERENCE }", "INFERENCE",
               one + "SegNet's (by their fields)");
  expect_taken(Dialect::kSegNet, "type: 'BN' bn_param { momentum: 0.5 }", "momentum",
               one + "PSPNet's (by their fields)");
  expect_taken(Dialect::kSegNet, "type: 'BN' bn_param { decay: 0.5 }", "decay",
               one + "caffe-windows' (by their fields)");
  expect_taken(Dialect::kWindows, "type: 'Normalize' norm_param { across_spatial: false }", "norm_param",
               "type Normalize: taken as SSD's (by their fields)");
  expect_taken(Dialect::kSsd, "type: 'Normalize' normalize_param { }", "normalize_param",
               "type Normalize: taken as caffe-windows' (by their fields)");
}

TEST(DialectTest, NormalizeWithoutAFieldThatTells) {
  expect_taken(Dialect::kNone, "type: 'Normalize'", "Normalize", "taken as SSD's (as no field tells");
  expect_taken(Dialect::kSsd, "type: 'Normalize'", "Normalize", "taken as SSD's (by -dialect)");
  EXPECT_FALSE(contains(read_as(Dialect::kSsd, "type: 'Normalize'").net, "normalize_param"));
  expect_taken(Dialect::kWindows, "type: 'Normalize'", "normalize_param", "taken as caffe-windows' (by -dialect)");
}

TEST(DialectTest, TestsAtTheBegin) {
  const auto tests_first = [](Dialect dialect, const std::string& text) {
    const Speaking speaking(dialect);
    const LogLines log;
    const bool first = parse_solver("net: 'n' " + text, "solver").param.test_initialization();
    EXPECT_EQ(contains(log.text(), "test_initialization: taken as NVIDIA's, false (by -dialect)"),
              dialect == Dialect::kNvidia && text.empty());
    return first;
  };
  EXPECT_TRUE(tests_first(Dialect::kNone, ""));
  EXPECT_TRUE(tests_first(Dialect::kBvlc, ""));
  EXPECT_FALSE(tests_first(Dialect::kNvidia, ""));
  EXPECT_TRUE(tests_first(Dialect::kNvidia, "test_initialization: true"));
}

TEST(DialectTest, Names) {
  for (const std::string& name : dialect_names()) EXPECT_NE(dialect_named(name), Dialect::kNone) << name;
  EXPECT_EQ(dialect_named(""), Dialect::kNone);
  const Error error = error_of([] { dialect_named("segnte"); });
  EXPECT_EQ(error.kind(), ErrorKind::kUsage);
  EXPECT_TRUE(contains(error.cause(), "segnet")) << error.cause();
  EXPECT_TRUE(contains(error.fix(), "bvlc, intel, nvidia, ssd, segnet, pspnet, caffe-windows")) << error.fix();
}

}  // namespace
}  // namespace robusta::test::dialect_test
