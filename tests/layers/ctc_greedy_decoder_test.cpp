// CTCGreedyDecoder.

#include <gtest/gtest.h>

#include "support/kernel_checks.h"

namespace robusta::test::ctc_greedy_decoder_test {
namespace {

const char* const kBackends[] = {"reference", "gpu"};

/// Two sequences over four steps and three classes, of which the second ends after three.
const Array kScores{0.5, 0.25, 0,    0,    0,   1,     //
                    1,   0,    0.25, 0.25, 0.5, 0,     //
                    0,   0.5,  1,    0,    1,   0.25,  //
                    1,   0,    0,    1,    0,   0};
const Array kGoesOn{0, 0, 1, 1, 1, 1, 1, 0};
/// The first is read 0 0, the second 1.
const Array kTargets{0, 1, 1, 2, 0, -1, -1, 5};

KernelCase decoder(const std::string& param, int bottoms, int tops) {
  KernelCase what{{"type: 'CTCGreedyDecoder' ctc_decoder_param { " + param + " }"}, {{4, 2, 3}, {4, 2}}};
  if (bottoms > 2) what.bottoms.push_back({4, 2});
  what.tops = tops;
  return what;
}

Arrays tops_of(const std::string& backend, const std::string& param, int bottoms, int tops) {
  KernelHarness harness(decoder(param, bottoms, tops), {.backend = backend, .dtype = DType::kF32, .backward = false});
  Arrays given{kScores, kGoesOn};
  if (bottoms > 2) given.push_back(kTargets);
  harness.forward(given);
  EXPECT_EQ(harness.damage(), "");
  return harness.tops();
}

TEST(CtcGreedyDecoderTest, Values) {
  for (const char* backend : kBackends) {
    const Arrays with_scores = tops_of(backend, "", 2, 2);
    EXPECT_EQ(with_scores[0], (Array{0, 0, -1, -1, 1, -1, -1, -1})) << backend;
    EXPECT_EQ(with_scores[1], (Array{-3.5, -2.5})) << backend;
    EXPECT_EQ(tops_of(backend, "ctc_merge_repeated: false", 2, 1)[0], (Array{0, 0, 0, -1, 1, 1, -1, -1})) << backend;
    EXPECT_EQ(tops_of(backend, "blank_index: 0", 2, 1)[0], (Array{2, -1, -1, -1, 2, 1, -1, -1})) << backend;
    // Distances 1 of 3 and 1 of 2.
    expect_near(tops_of(backend, "", 3, 2)[1], {1 - (1.0 / 3 + 1.0 / 2) / 2}, 1e-6, backend);
    const Arrays all = tops_of(backend, "", 3, 3);
    EXPECT_EQ(all[1], (Array{-3.5, -2.5})) << backend;
    expect_near(all[2], {1 - (1.0 / 3 + 1.0 / 2) / 2}, 1e-6, backend);
  }
}

TEST(CtcGreedyDecoderTest, Shapes) {
  const KernelHarness harness(decoder("", 3, 3), {});
  EXPECT_EQ(harness.top_shapes(), (std::vector<Shape>{{2, 4, 1, 1}, {2, 1, 1, 1}, {1, 1, 1, 1}}));
  EXPECT_FALSE(harness.layer().has_backward());
}

TEST(CtcGreedyDecoderTest, Errors) {
  expect_config_error(decoder("blank_index: 3", 2, 1), "blank_index 3 is out of range 0..2",
                      "ctc_decoder_param.blank_index");
  expect_config_error(decoder("", 2, 3), "there are 3 tops for two bottoms", "top");
  KernelCase what = decoder("", 2, 1);
  what.bottoms[1] = {4, 3};
  expect_config_error(what, "bottom 0 has shape 4 2 3", "bottom");
}

}  // namespace
}  // namespace robusta::test::ctc_greedy_decoder_test
