#include "schema/phases.h"

#include <gtest/gtest.h>

#include "schema/has_phases.h"
#include "schema/read_text.h"
#include "support/errors.h"
#include "support/files.h"

namespace robusta::test {
namespace {

const std::string kThree = R"(# a comment
params_pair {
  solver_params {
    net: "net.prototxt"
    base_lr: 0.1
    solver_type: NESTEROV
  }
  batch_size: 32
}
params_pair { batch_size: 64 }
params_pair {
  solver_params {
    base_lr: 0.01
    max_iter: 7
  }
}
)";

TEST(Phases, TakeWhatThePairBeforeHas) {
  const std::vector<SolverPhase> phases = parse_phases(kThree, "a/multi.prototxt");
  ASSERT_EQ(phases.size(), 3u);
  EXPECT_EQ(phases[0].batch, 32);
  EXPECT_EQ(phases[1].batch, 64);
  EXPECT_EQ(phases[2].batch, 64);
  EXPECT_EQ(phases[0].solver.param.type(), "Nesterov");
  EXPECT_EQ(phases[1].solver.param.type(), "Nesterov");
  EXPECT_EQ(phases[2].solver.param.type(), "SGD");
  EXPECT_FLOAT_EQ(phases[2].solver.param.base_lr(), 0.01f);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(phases[i].solver.param.net(), "net.prototxt");
    EXPECT_EQ(phases[i].solver.param.snapshot_prefix(), "a/multi_phase_" + std::to_string(i));
  }
}

TEST(Phases, KnowTheirLines) {
  const std::vector<SolverPhase> phases = parse_phases(kThree, "multi.prototxt");
  EXPECT_EQ(phases[0].solver.where("base_lr"), "multi.prototxt:5");
  EXPECT_EQ(phases[0].solver.where("type"), "multi.prototxt:6");
  EXPECT_EQ(phases[0].batch_where, "multi.prototxt:8");
  EXPECT_EQ(phases[1].solver.where("base_lr"), "multi.prototxt:5");
  EXPECT_EQ(phases[1].batch_where, "multi.prototxt:10");
  EXPECT_EQ(phases[2].solver.where("max_iter"), "multi.prototxt:14");
}

TEST(Phases, AFileOfOneSolverIsOne) {
  const std::vector<SolverPhase> phases = parse_phases("net: 'n' snapshot_prefix: 'params_pair'", "s.prototxt");
  ASSERT_EQ(phases.size(), 1u);
  EXPECT_EQ(phases[0].solver.param.snapshot_prefix(), "params_pair");
  EXPECT_EQ(phases[0].batch, 0);
  EXPECT_FALSE(has_phases(""));
  EXPECT_FALSE(has_phases("# params_pair"));
  EXPECT_TRUE(has_phases("\n # net: 'n'\n\t params_pair {}"));
}

TEST(Phases, PrefixesLieInAFolderUnderTheFilesName) {
  const TempDir folder;
  const std::string text =
      "params_pair { solver_params { net: 'n' snapshot_prefix: '" + folder.path().string() + "' } }";
  EXPECT_EQ(parse_phases(text, "multi.prototxt")[0].solver.param.snapshot_prefix(), folder / "multi_phase_0");
}

void expect_refused(const std::string& text, const std::string& cause, const std::string& where) {
  const Error error = error_of([&] { parse_phases(text, "multi.prototxt"); });
  EXPECT_EQ(error.kind(), ErrorKind::kConfig) << text;
  EXPECT_TRUE(contains(error.what(), cause));
  EXPECT_EQ(error.location(), where);
}

TEST(Phases, RefuseWhatIsNone) {
  expect_refused("params_pair: []", "there is no phase in it", "multi.prototxt");
  expect_refused("params_pair { batch_size: 3 }", "the first params_pair has no solver_params", "multi.prototxt:1");
  expect_refused("params_pair { solver_params { net: 'n' } batch_size: 0 }", "batch_size is 0", "multi.prototxt:1");
  expect_refused("params_pair { solver_params { net: 'n' } }\nparams_pair { solver_params {\n net: 'm' } }",
                 "the phases of a file train one net", "multi.prototxt:3");
  expect_refused("params_pair { solver_parms { net: 'n' } }", "did you mean \"solver_params\"?", "multi.prototxt:1");
  EXPECT_EQ(
      parse_phases("params_pair { solver_params { net: 'n' } } params_pair { solver_params { net: 'n' } }", "m").size(),
      2u);
}

TEST(Phases, AreNoSingleSolver) {
  const Error error = error_of([] { parse_solver(kThree, "multi.prototxt"); });
  EXPECT_EQ(error.kind(), ErrorKind::kConfig);
  EXPECT_TRUE(contains(error.what(), "several phases of training (params_pair)"));
}

TEST(Phases, SetTheBatchOfTheFirstDataLayer) {
  const std::string layers = R"(
layer { name: "t" type: "ImageData" image_data_param { batch_size: 5 } }
layer { name: "a" type: "Data" include { phase: TRAIN } data_param { batch_size: 6 } }
layer { name: "b" type: "Data" include { phase: TEST } data_param { batch_size: 7 } })";
  NetDef net = parse_net(layers, "net");
  set_batch({{}, 0, ""}, net);
  EXPECT_EQ(net.param.layer(1).data_param().batch_size(), 6u);
  set_batch({{}, 64, ""}, net);
  EXPECT_EQ(net.param.layer(0).image_data_param().batch_size(), 5u);
  EXPECT_EQ(net.param.layer(1).data_param().batch_size(), 64u);
  EXPECT_EQ(net.param.layer(2).data_param().batch_size(), 7u);
  NetDef none = parse_net("layer { name: 'd' type: 'DummyData' }", "net");
  const Error error = error_of([&] { set_batch({{}, 64, "multi.prototxt:8"}, none); });
  EXPECT_EQ(error.kind(), ErrorKind::kConfig);
  EXPECT_EQ(error.location(), "multi.prototxt:8");
}

}  // namespace
}  // namespace robusta::test
