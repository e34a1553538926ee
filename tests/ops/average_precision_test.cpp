// Average precision: numbers by hand.

#include "ops/average_precision.h"

#include <gtest/gtest.h>

#include <cmath>

namespace robusta::test {
namespace {

/// Of four objects three are found: precisions 1, 1/2, 2/3, 2/4, 3/5 at recalls 1/4, 1/4, 1/2, 1/2, 3/4.
const std::vector<Judgement> kFound{{0.5f, true}, {0.9f, true}, {0.8f, false}, {0.4f, false}, {0.3f, true}};

double precision(const std::vector<Judgement>& found, int64_t objects, const char* version) {
  return average_precision(found, objects, *ap_version_named(version));
}

TEST(AveragePrecision, ByHand) {
  // The best precisions at recalls of 0, 0.1, 0.2: 1; 0.3, 0.4, 0.5: 2/3; 0.6, 0.7: 3/5; then none.
  EXPECT_NEAR(precision(kFound, 4, "11point"), (3 * 1 + 3 * 2.0 / 3 + 2 * 0.6) / 11, 1e-6);
  EXPECT_NEAR(precision(kFound, 4, "Integral"), 0.25 * (1 + 2.0 / 3 + 0.6), 1e-6);
  // From the place before on: the precisions 1, 2/3 and 3/5.
  EXPECT_NEAR(precision(kFound, 4, "MaxIntegral"), 0.25 * (1 + 2.0 / 3 + 0.6), 1e-6);
  const std::vector<Judgement> late{{0.9f, false}, {0.8f, true}, {0.7f, true}};
  EXPECT_NEAR(precision(late, 2, "Integral"), 0.5 * (1.0 / 2 + 2.0 / 3), 1e-6);
  EXPECT_NEAR(precision(late, 2, "MaxIntegral"), 2.0 / 3, 1e-6);
  EXPECT_NEAR(precision(late, 2, "11point"), 2.0 / 3, 1e-6);
}

TEST(AveragePrecision, Ends) {
  for (const char* version : {"11point", "MaxIntegral", "Integral"}) {
    EXPECT_EQ(precision({}, 3, version), 0) << version;
    EXPECT_EQ(precision(kFound, 0, version), 0) << version;
    EXPECT_NEAR(precision({{0.5f, true}, {0.4f, true}}, 2, version), 1, 1e-6) << version;
    EXPECT_EQ(precision({{0.5f, false}}, 2, version), 0) << version;
    // What is no number is found last.
    EXPECT_NEAR(precision({{std::nanf(""), false}, {0.5f, true}}, 1, version), 1, 1e-6) << version;
  }
  EXPECT_FALSE(ap_version_named("11Point"));
}

/// Single precision, as in Caffe: 7 of 10 objects are less than 0.7 of them.
TEST(AveragePrecision, RecallsAreCaffes) {
  EXPECT_NEAR(precision(std::vector<Judgement>(7, {0.5f, true}), 10, "11point"), 7.0 / 11, 1e-6);
  EXPECT_NEAR(precision(std::vector<Judgement>(6, {0.5f, true}), 10, "11point"), 7.0 / 11, 1e-6);
}

}  // namespace
}  // namespace robusta::test
