// The native LRN: channels in blocks, window sums that cross blocks, padded channels.

#include <gtest/gtest.h>

#include "support/blocked.h"

namespace robusta::test::native_lrn_test {
namespace {

KernelCase lrn(const std::string& param, const Shape& bottom) {
  return {{"type: 'LRN' lrn_param { " + param + " }"}, {bottom}};
}

const KernelCase kCases[] = {
    lrn("local_size: 5 alpha: 0.0001 beta: 0.75", {2, 64, 5, 6}),
    lrn("local_size: 5 alpha: 2 beta: 0.75", {1, 32, 3, 3}),
    lrn("local_size: 3 alpha: 1 beta: 0.75 k: 2", {3, 16, 2, 7}),
    lrn("local_size: 7 alpha: 1 beta: 0.75", {2, 20, 4, 3}),
    lrn("local_size: 1 alpha: 1 beta: 0.75", {1, 3, 2, 2}),
    lrn("local_size: 9 alpha: 0.5 beta: 0.75", {1, 5, 1, 17}),
};

TEST(NativeLrn, AgreesWithTheReference) {
  for (const KernelCase& c : kCases) compare_with_reference("native", c);
}

TEST(NativeLrn, AgreesWhenTheBottomComesBlocked) {
  for (const KernelCase& c : kCases) compare_blocked("native", c);
}

TEST(NativeLrn, AgreesInBlocksOf8) {
  for (const KernelCase& c : kCases) {
    const onednn::Dims dims = onednn::dims_of(c.bottoms[0]);
    compare_with_reference("native", c, 2e-6, {.bottom_layouts = {onednn::layout_of(onednn::blocked_desc(dims, 8))}});
  }
}

TEST(NativeLrn, DeclinesWhatItCannotDo) {
  expect_declined("native", lrn("k: 0", {1, 16, 2, 2}), "positive");
  expect_declined("native", lrn("beta: 0.5", {1, 16, 2, 2}), "0.75");
  expect_declined("native", lrn("norm_region: WITHIN_CHANNEL beta: 0.75", {1, 16, 2, 2}), "across");
}

}  // namespace
}  // namespace robusta::test::native_lrn_test
