// Tile.

#include <gtest/gtest.h>

#include "support/kernel_checks.h"

namespace robusta::test::tile_test {
namespace {

KernelCase tile(const std::string& param, const Shape& bottom) {
  return {{"type: 'Tile' tile_param { " + param + " }"}, {bottom}};
}

const KernelCase kTiles[] = {
    tile("tiles: 3", {2, 3, 4, 2}),          tile("tiles: 2 axis: 2", {2, 3, 4, 2}), tile("tiles: 1", {2, 3, 4}),
    tile("tiles: 4 axis: -1", {3, 5}),       tile("tiles: 5 axis: 0", {3}),          tile("tiles: 2", {2, 1, 3, 4}),
    tile("tiles: 3 axis: 1", {2, 16, 3, 4}),
};

TEST(TileTest, RepeatsWholeBlocks) {
  KernelHarness harness(tile("tiles: 2", {2, 2, 2}), {});
  EXPECT_EQ(harness.top_shapes()[0], (Shape{2, 4, 2}));
  harness.forward({{1, 2, 3, 4, 5, 6, 7, 8}});
  EXPECT_EQ(harness.tops()[0], (Array{1, 2, 3, 4, 1, 2, 3, 4, 5, 6, 7, 8, 5, 6, 7, 8}));
}

TEST(TileTest, Gradients) {
  for (const KernelCase& c : kTiles) check_gradients(c);
}

TEST(TileTest, HostKernels) {
  for (const char* backend : {"reference", "native"}) {
    for (const KernelCase& c : kTiles) compare_with_reference(backend, c);
    compare_with_reference(backend, tile("tiles: 7 axis: 0", {3, 50, 31}));
  }
}

TEST(TileTest, Gpu) {
  for (const KernelCase& c : kTiles) compare_gpu_with_reference(c);
}

TEST(TileTest, Errors) {
  expect_config_error(tile("", {2, 3}), "no tiles", "tile_param.tiles");
  expect_config_error(tile("tiles: 0", {2, 3}), "tiles is 0", "tile_param.tiles");
  expect_config_error(tile("tiles: -1", {2, 3}), "tiles is -1", "tile_param.tiles");
  expect_config_error(tile("tiles: 2 axis: 2", {2, 3}), "axis 2", "tile_param.axis");
  expect_config_error(tile("tiles: 2147483647", {2, 1 << 20}), "impossible shape");
}

}  // namespace
}  // namespace robusta::test::tile_test
