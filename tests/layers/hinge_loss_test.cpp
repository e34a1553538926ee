#include <gtest/gtest.h>

#include "support/class_losses.h"

namespace robusta::test::hinge_loss_test {
namespace {

constexpr char kLayer[] = "type: 'HingeLoss'", kSquared[] = "type: 'HingeLoss' hinge_loss_param { norm: L2 }";

TEST(HingeLossTest, GradientsAndKernels) {
  check_class_loss(kLayer, false);
  check_class_loss(kSquared, false);
}

TEST(HingeLossTest, Labels) { check_labels_of(kLayer); }

TEST(HingeLossTest, Values) {
  // Margins 0, 1.5, 0 and 0.75, 0.5, 0.
  const Array scores{2, 0.5, -3, -0.25, 0.5, -1}, labels{0, 1};
  for (const char* backend : {"reference", "gpu"}) {
    const ClassLoss plain = run_class_loss(backend, kLayer, scores, labels);
    EXPECT_EQ(plain.loss, 2.75 / 2) << backend;
    EXPECT_EQ(plain.gradient, (Array{0, 1, 0, 1, -1, 0})) << backend;
    const ClassLoss squared = run_class_loss(backend, kSquared, scores, labels);
    EXPECT_EQ(squared.loss, (1.5 * 1.5 + 0.75 * 0.75 + 0.25) / 2) << backend;
    EXPECT_EQ(squared.gradient, (Array{0, 3, 0, 1.5, -1, 0})) << backend;
    EXPECT_TRUE(std::isnan(run_class_loss(backend, kLayer, {NAN, 1}, {1}).loss)) << backend;
  }
}

}  // namespace
}  // namespace robusta::test::hinge_loss_test
