// Concat and Slice of channels in blocks.

#include <gtest/gtest.h>

#include "support/blocked.h"

namespace robusta::test::onednn_concat_test {
namespace {

TEST(BlockedConcat, AgreesWithTheReference) {
  compare_blocked("onednn", {{"type: 'Concat'"}, {{2, 16, 3, 4}, {2, 48, 3, 4}, {2, 32, 3, 4}}});
  compare_blocked("onednn", {{"type: 'Concat'"}, {{1, 32, 1, 5}, {1, 16, 1, 5}}});
}

TEST(BlockedConcat, DeclinesWhatIsNoWholeBlocks) {
  expect_declined("onednn", {{"type: 'Concat'"}, {{2, 16, 3, 4}, {2, 16, 3, 4}}}, "nothing comes in channel blocks");
}

TEST(BlockedSlice, AgreesWithTheReference) {
  KernelCase what{{"type: 'Slice' slice_param { slice_point: 16 slice_point: 64 }"}, {{2, 96, 3, 2}}};
  what.tops = 3;
  compare_blocked("onednn", what);
}

}  // namespace
}  // namespace robusta::test::onednn_concat_test
