// Pad and Padding.

#include <gtest/gtest.h>

#include "support/kernel_checks.h"

namespace robusta::test::pad_test {
namespace {

KernelCase pad(const std::vector<int>& paddings, const Shape& bottom, const std::string& more = "") {
  std::string param;
  for (const int padding : paddings) param += " paddings: " + std::to_string(padding);
  return {{"type: 'Pad' pad_param {" + param + " " + more + " }"}, {bottom}};
}

KernelCase padding(const std::string& param, const Shape& bottom) {
  return {{"type: 'Padding' padding_param { " + param + " }"}, {bottom}};
}

const KernelCase kPadded[] = {
    pad({0, 0, 0, 0, 1, 2, 3, 0}, {2, 3, 4, 5}),
    pad({1, 1, 2, 0}, {3, 4}, "constant_values: -2.5"),
    pad({0, 0, 0, 0, 0, 0}, {2, 3, 4}),
    pad({0, 0, 8, 8, 1, 1, 0, 1}, {2, 16, 3, 4}, "constant_values: 0.5"),
    pad({3, 4}, {2}),
    padding("pad_beg: 1 pad_end: 2", {2, 3, 4, 5}),
    padding("pad_beg: -1 pad_end: -2", {2, 3, 5, 6}),
    padding("pad_beg: 3", {1, 2, 2, 3}),
    padding("", {1, 2, 2, 3}),
};

TEST(PadTest, PutsConstantsAround) {
  KernelHarness harness(pad({1, 0, 0, 2}, {1, 2}, "constant_values: 7"), {});
  EXPECT_EQ(harness.top_shapes()[0], (Shape{2, 4}));
  harness.forward({{1, 2}});
  EXPECT_EQ(harness.tops()[0], (Array{7, 7, 7, 7, 1, 2, 7, 7}));
  harness.backward({{1, 2, 3, 4, 5, 6, 7, 8}});
  EXPECT_EQ(harness.bottom_diffs()[0], (Array{5, 6}));
}

TEST(PadTest, PaddingPutsZerosAroundOrCutsOff) {
  KernelHarness more(padding("pad_beg: 1", {1, 1, 1, 2}), {}), less(padding("pad_end: -1", {1, 1, 2, 2}), {});
  more.forward({{1, 2}});
  EXPECT_EQ(more.tops()[0], (Array{0, 0, 0, 0, 1, 2}));
  less.forward({{1, 2, 3, 4}});
  EXPECT_EQ(less.tops()[0], Array{1});
}

TEST(PadTest, Gradients) {
  for (const KernelCase& c : kPadded) check_gradients(c);
}

TEST(PadTest, HostKernels) {
  for (const char* backend : {"reference", "native"}) {
    for (const KernelCase& c : kPadded) compare_with_reference(backend, c);
  }
}

TEST(PadTest, Gpu) {
  for (const KernelCase& c : kPadded) compare_gpu_with_reference(c);
}

TEST(PadTest, Errors) {
  expect_config_error(pad({1, 1, 1}, {2, 3}), "3 paddings for the 2 axes", "pad_param.paddings");
  const auto most = make_layer(parse_layer("type: 'Pad' pad_param { paddings: 4294967295 paddings: 4294967295 }"));
  EXPECT_EQ(most->infer_tops({Shape{2}})[0], (Shape{8589934592}));
  const char* field = "padding_param.pad_beg";
  expect_config_error(padding("pad_beg: 1 pad_end: -1", {1, 1, 4, 4}), "different signs", field);
  expect_config_error(padding("pad_beg: -2 pad_end: -2", {1, 1, 4, 5}), "nothing is left", field);
  expect_config_error(padding("pad_beg: 1", {1, 4, 4}), "batch, channels, height and width");
}

}  // namespace
}  // namespace robusta::test::pad_test
