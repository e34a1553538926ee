#include "schema/filter.h"

#include <gtest/gtest.h>

#include "schema/read_text.h"
#include "support/errors.h"
#include "support/log_lines.h"

namespace robusta {
namespace {

caffe::NetState state(caffe::Phase phase, int level = 0, const std::vector<std::string>& stages = {}) {
  caffe::NetState state;
  state.set_phase(phase);
  state.set_level(level);
  for (const std::string& stage : stages) state.add_stage(stage);
  return state;
}

/// Whether a layer with these rules is in, read from text as users write them.
bool is_in(const std::string& rules, const caffe::NetState& state) {
  return filter_net(parse_net("layer { name: 'l' " + rules + " }", "n"), state).param.layer_size() == 1;
}

TEST(Filter, IncludeNeedsOneRuleThatHolds) {
  EXPECT_TRUE(is_in("", state(caffe::TRAIN)));
  EXPECT_TRUE(is_in("include { phase: TRAIN }", state(caffe::TRAIN)));
  EXPECT_FALSE(is_in("include { phase: TRAIN }", state(caffe::TEST)));
  EXPECT_TRUE(is_in("include { phase: TRAIN } include { stage: 'val' }", state(caffe::TEST, 0, {"val"})));
  EXPECT_TRUE(is_in("include { }", state(caffe::TEST)));
}

TEST(Filter, ExcludeNeedsNone) {
  EXPECT_FALSE(is_in("exclude { phase: TRAIN }", state(caffe::TRAIN)));
  EXPECT_TRUE(is_in("exclude { phase: TRAIN }", state(caffe::TEST)));
  EXPECT_FALSE(is_in("exclude { phase: TRAIN } exclude { min_level: 2 }", state(caffe::TEST, 2)));
}

TEST(Filter, LevelsAreInclusive) {
  for (const int level : {1, 2, 3, 4})
    EXPECT_EQ(is_in("include { min_level: 2 max_level: 3 }", state(caffe::TEST, level)), level == 2 || level == 3);
}

TEST(Filter, AllStagesAndNoneOfNotStage) {
  const std::string rule = "include { stage: 'a' stage: 'b' not_stage: 'c' not_stage: 'd' }";
  EXPECT_TRUE(is_in(rule, state(caffe::TEST, 0, {"b", "a"})));
  EXPECT_FALSE(is_in(rule, state(caffe::TEST, 0, {"a"})));
  EXPECT_FALSE(is_in(rule, state(caffe::TEST, 0, {"a", "b", "d"})));
}

TEST(Filter, APlainPhaseIsNoRule) { EXPECT_TRUE(is_in("phase: TRAIN", state(caffe::TEST))); }

TEST(Filter, SaysWhyNot) {
  caffe::NetStateRule rule;
  rule.set_phase(caffe::TEST);
  std::string why;
  EXPECT_FALSE(state_meets_rule(state(caffe::TRAIN), rule, &why));
  EXPECT_EQ(why, "phase (0) differed from the phase (1)");
  EXPECT_TRUE(state_meets_rule(state(caffe::TEST), rule, &why));
  EXPECT_EQ(why, "");
  rule.set_min_level(3);
  EXPECT_FALSE(state_meets_rule(state(caffe::TEST), rule, &why));
  EXPECT_EQ(why, "level (0) is below the min_level (3)");
}

TEST(Filter, LogsTheLineThatLogParsersKnow) {
  const test::LogLines log;
  filter_net(parse_net("layer { name: 'mnist' include { phase: TEST } }", "n"), state(caffe::TRAIN));
  EXPECT_EQ(log.text(), "The NetState phase (0) differed from the phase (1) specified by a rule in layer mnist\n");
}

TEST(Filter, KeepsSourcesWithTheirLayersAndSetsTheState) {
  const NetDef net =
      parse_net("state { level: 7 }\nlayer { name: 'a' include { phase: TEST } }\nlayer { name: 'b' }", "n");
  const NetDef kept = filter_net(net, state(caffe::TRAIN, 1, {"s"}));
  ASSERT_EQ(kept.param.layer_size(), 1);
  ASSERT_EQ(kept.sources.size(), 1u);
  EXPECT_EQ(kept.sources[0].where(), "n:3");
  EXPECT_EQ(kept.param.state().ShortDebugString(), "phase: TRAIN level: 1 stage: \"s\"");
}

TEST(Filter, RefusesRulesOfBothKinds) {
  const NetDef net = parse_net("layer { name: 'a'\n include { }\n exclude { } }", "n");
  const Error error = test::error_of([&] { filter_net(net, state(caffe::TRAIN)); });
  EXPECT_STREQ(error.what(), "n:3: layer \"a\": both include and exclude rules; use rules of one kind");
}

}  // namespace
}  // namespace robusta
