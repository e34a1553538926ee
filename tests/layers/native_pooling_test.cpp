// The native pooling kernel against the reference, in each layout that it can walk over.

#include <gtest/gtest.h>

#include "base/str.h"
#include "layers/backends/onednn/layout.h"
#include "support/kernel_checks.h"

namespace robusta::test::native_pooling_test {
namespace {

std::string pooling(const std::string& param) { return "type: 'Pooling' pooling_param { " + param + " }"; }

std::vector<Layout> layouts_of(const Shape& shape) {
  const onednn::Dims dims = onednn::dims_of(shape);
  return {nullptr, onednn::layout_of(onednn::blocked_desc(dims, 16)), onednn::layout_of(onednn::blocked_desc(dims, 8)),
          onednn::layout_of(onednn::channels_last_desc(dims))};
}

TEST(NativePooling, MatchesReferenceInEachLayout) {
  for (const char* pool : {"MAX", "AVE", "AVE avg_include_pad: false"}) {
    for (const char* window :
         {"kernel_size: 2 stride: 2", "kernel_size: 3 stride: 2", "kernel_size: 3 stride: 2 pad: 1",
          "kernel_size: 3 stride: 1 pad: 1", "kernel_size: 5 stride: 3 round_mode: FLOOR",
          "kernel_size: 3 stride: 2 round_mode: FLOOR", "kernel_size: 2 stride: 2 round_mode: FLOOR",
          "kernel_h: 2 kernel_w: 3 stride_h: 3 stride_w: 1 pad_h: 0 pad_w: 2",
          "kernel_h: 3 kernel_w: 2 stride_h: 1 stride_w: 3 pad_h: 2 pad_w: 1", "global_pooling: true"}) {
      for (const Shape& shape : {Shape{2, 20, 9, 7}, Shape{1, 3, 8, 8}, Shape{2, 48, 7, 10}}) {
        for (const Layout& layout : layouts_of(shape)) {
          SCOPED_TRACE(layout_name(layout));
          const KernelCase what{{pooling(str("pool: ", pool, " ", window))}, {shape}};
          compare_with_reference("native", what, 1e-5, {.bottom_layouts = {layout}});
        }
      }
    }
  }
}

TEST(NativePooling, OneSpatialAxis) {
  for (const char* pool : {"MAX", "AVE"}) {
    compare_with_reference("native", {{pooling(str("pool: ", pool, " kernel_size: 3 stride: 2"))}, {{2, 5, 11}}});
  }
}

/// Volumes are pooled plane by plane, then over their depth.
TEST(NativePooling, ThreeSpatialAxes) {
  for (const char* pool : {"MAX", "AVE", "AVE avg_include_pad: false"}) {
    for (const char* window :
         {"kernel_size: 2 stride: 2", "kernel_size: 3 stride: 2 pad: 1", "global_pooling: true",
          "kernel_size_3d: 1 kernel_size_3d: 2 kernel_size_3d: 3 stride_3d: 1 stride_3d: 2 stride_3d: 1 "
          "pad_3d: 0 pad_3d: 1 pad_3d: 2",
          "kernel_size_3d: 3 kernel_size_3d: 1 kernel_size_3d: 1 stride_3d: 2 stride_3d: 1 stride_3d: 1 "
          "pad_3d: 1 pad_3d: 0 pad_3d: 0"}) {
      for (const Shape& shape : {Shape{2, 20, 5, 6, 7}, Shape{1, 3, 4, 4, 4}}) {
        for (const Layout& layout : layouts_of(shape)) {
          SCOPED_TRACE(layout_name(layout));
          const KernelCase what{{pooling(str("pool: ", pool, " ", window))}, {shape}};
          compare_with_reference("native", what, 1e-5, {.bottom_layouts = {layout}});
        }
      }
    }
  }
}

TEST(NativePooling, Dilation) {
  for (const char* pool : {"MAX", "AVE", "AVE_EXC_PAD"}) {
    for (const char* window :
         {"kernel_size: 3 dilation: 2", "kernel_size: 2 stride: 2 dilation: 3 pad: 2",
          "kernel_size: 3 stride: 4 dilation: 2 pad: 1", "kernel_size: 3 stride: 3 dilation: 2 pad: 2",
          "kernel_h: 2 kernel_w: 3 dilation: 4 dilation: 1 pad_h: 2 pad_w: 1"}) {
      for (const Layout& layout : layouts_of({2, 20, 9, 8})) {
        SCOPED_TRACE(layout_name(layout));
        const KernelCase what{{pooling(str("pool: ", pool, " ", window))}, {{2, 20, 9, 8}}};
        compare_with_reference("native", what, 1e-5, {.bottom_layouts = {layout}});
      }
    }
    compare_with_reference("native",
                           {{pooling(str("pool: ", pool, " kernel_size: 2 dilation: 2"))}, {{2, 2, 5, 4, 3}}});
  }
}

TEST(NativePooling, TiesGoToTheFirst) {
  for (const Shape& shape : {Shape{1, 16, 5, 5}, Shape{1, 16, 5, 5, 5}}) {
    for (const char* window : {"kernel_size: 3 stride: 2", "kernel_size: 2 dilation: 2"}) {
      KernelCase what{{pooling(str("pool: MAX ", window))}, {shape}};
      what.bottom_values = [](int, const Shape& of) { return Array(static_cast<size_t>(of.count()), 0.5); };
      for (const Layout& layout : layouts_of(what.bottoms[0])) {
        compare_with_reference("native", what, 1e-5, {.bottom_layouts = {layout}});
      }
    }
  }
}

TEST(NativePooling, Declines) {
  expect_declined("native", {{pooling("pool: MAX kernel_size: 2 stride: 2")}, {{1, 2, 4, 4}}, caffe::TRAIN, 2},
                  "indices");
  expect_declined("native", {{pooling("pool: MAX kernel_size: 1 stride: 4")}, {{1, 2, 6, 6}}}, "outside");
  expect_declined("native", {{pooling("pool: AVE kernel_size: 2 dilation: 4 pad: 2")}, {{1, 2, 3, 8}}}, "outside");
  expect_declined("native", {{pooling("pool: MAX kernel_size: 16 stride: 16")}, {{1, 2, 16, 16}}}, "byte");
}

}  // namespace
}  // namespace robusta::test::native_pooling_test
