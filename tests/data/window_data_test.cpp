// WindowData: window files, what is drawn, and where windows come to lie.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "data/window_file.h"
#include "layers/types/window_data/window_cut.h"
#include "opened_layer.h"
#include "sample_db.h"
#include "support/errors.h"
#include "support/files.h"

namespace robusta::window_data_test {
namespace {

using test::contains;
using test::error_of;
using test::nth_pass;
using test::OpenedLayer;
using test::pass_over;
using test::TempDir;
using test::Tops;

caffe::LayerParameter window_layer(const std::string& source, const std::string& settings,
                                   const std::string& transform = "crop_size: 4") {
  return test::layer_of_images("WindowData", "window_data_param", source, settings, transform, caffe::TRAIN);
}

constexpr Extent kSize{3, 12, 10};

/// Two images with two windows of the foreground (classes 3 and 5), three of the background and one of neither.
std::string make_windows(const TempDir& dir) {
  for (uint64_t i : {0, 1}) {
    test::write_file(dir / (std::to_string(i) + ".png"), encode_image(test::random_image(kSize, i), ImageFormat::kPng));
  }
  const std::string text = "# 0\n" + (dir / "0.png") + "\n3 12 10\n4\n3 0.9 2 1 5 4\n7 0.1 0 0 9 11\n7 0.2 4 4 7 7\n" +
                           "8 0.4 1 1 2 2\n# 1\n" + (dir / "1.png") + "\n3\n12\n10\n2\n5 0.5 0 0 3 3\n0 0 6 8 9 11\n";
  test::write_file(dir / "windows.txt", text);
  return dir / "windows.txt";
}

constexpr char kThresholds[] = "batch_size: 4 fg_threshold: 0.5 bg_threshold: 0.3 ";

TEST(WindowDataTest, BatchesHaveTheirShareOfTheForegroundBehindTheBackground) {
  TempDir dir;
  OpenedLayer layer(window_layer(make_windows(dir), std::string(kThresholds) + "fg_fraction: 0.5"));
  std::map<float, int> seen;
  for (uint64_t k = 0; k < 50; ++k) {
    const Tops tops = pass_over(layer, nth_pass(k, 4));
    ASSERT_EQ(tops.shapes[0], (Shape{4, 3, 4, 4}));
    EXPECT_EQ(tops.values[1][0], 0);
    EXPECT_EQ(tops.values[1][1], 0);
    for (int i : {2, 3}) ++seen[tops.values[1][static_cast<size_t>(i)]];
  }
  EXPECT_EQ(seen.size(), 2u);
  EXPECT_GT(seen[3], 25);
  EXPECT_GT(seen[5], 25);
  EXPECT_EQ(layer->records(), 0);  // drawn without end
  EXPECT_EQ(layer->labelled()->size(), 5);
}

TEST(WindowDataTest, PositionsDecideWhatIsDrawn) {
  TempDir dir;
  const auto param = window_layer(make_windows(dir), std::string(kThresholds) + "context_pad: 1 cache_images: true",
                                  "crop_size: 4 mirror: true");
  OpenedLayer whole(param), resumed(param, {.data = {.threads = 3}});
  std::vector<Tops> all;
  for (uint64_t k = 0; k < 8; ++k) all.push_back(pass_over(whole, nth_pass(k, 4)));
  for (uint64_t k = 5; k < 8; ++k) EXPECT_EQ(pass_over(resumed, nth_pass(k, 4)).values, all[k].values);
  EXPECT_NE(pass_over(whole, nth_pass(2, 4, 99)).values, all[2].values);
}

TEST(WindowDataTest, PixelsOfAWindowThatFits) {
  TempDir dir;
  OpenedLayer layer(window_layer(make_windows(dir), std::string(kThresholds) + "fg_fraction: 1",
                                 "crop_size: 4 scale: 0.5 mean_value: 10 mean_value: 20 mean_value: 30"));
  const Tops tops = pass_over(layer, nth_pass(0, 4));
  for (int64_t i = 0; i < 4; ++i) {
    const bool first = tops.values[1][static_cast<size_t>(i)] == 3;
    const Image image = test::random_image(kSize, first ? 0 : 1);
    const int64_t top = first ? 1 : 0, left = first ? 2 : 0;
    for (int64_t c = 0; c < 3; ++c) {
      for (int64_t y = 0; y < 4; ++y) {
        for (int64_t x = 0; x < 4; ++x) {
          const float want =
              (static_cast<float>(image.row(c, top + y)[left + x]) - static_cast<float>(10 * c + 10)) / 2;
          ASSERT_EQ(tops.values[0][static_cast<size_t>(((i * 3 + c) * 4 + y) * 4 + x)], want);
        }
      }
    }
  }
}

/// What mirroring makes of it is the window turned from right to left, padding included.
TEST(WindowDataTest, MirroringTurnsThePaddingToo) {
  TempDir dir;
  make_windows(dir);
  test::write_file(dir / "one.txt", "# 0 " + (dir / "0.png") + " 3 12 10 1\n1 1 0 0 3 5\n");
  const auto param = [&](const std::string& transform) {
    return window_layer(dir / "one.txt", "batch_size: 1 fg_fraction: 1 context_pad: 2", "crop_size: 8 " + transform);
  };
  OpenedLayer plain(param("")), mirrored(param("mirror: true"));
  const Tops want = pass_over(plain, nth_pass(0, 1));
  int turned = 0;
  for (uint64_t k = 0; k < 20; ++k) {
    Tops got = pass_over(mirrored, nth_pass(k, 1));
    if (got.values == want.values) continue;
    ++turned;
    for (size_t row = 0; row < 24; ++row)
      std::reverse(got.values[0].begin() + 8 * row, got.values[0].begin() + 8 * row + 8);
    ASSERT_EQ(got.values, want.values);
  }
  EXPECT_GT(turned, 3);
  EXPECT_LT(turned, 17);
}

/// Worked out by hand: 4 x 4 at 0,0 with context 8/4 covers -2 .. 6 (9 pixels), of which 0 .. 6 are there.
TEST(WindowCutTest, ContextOutsideOfTheImage) {
  const WindowCut want{.x1 = 0, .y1 = 0, .x2 = 6, .y2 = 6, .left = 2, .top = 2, .width = 6, .height = 6};
  EXPECT_EQ(cut_window({.x1 = 0, .y1 = 0, .x2 = 3, .y2 = 3}, {3, 20, 20}, {8, 2, false}, false), want);
}

TEST(WindowCutTest, Squares) {
  const WindowCut want{.x1 = 4, .y1 = 2, .x2 = 12, .y2 = 10, .left = 0, .top = 0, .width = 8, .height = 8};
  EXPECT_EQ(cut_window({.x1 = 7, .y1 = 2, .x2 = 8, .y2 = 9}, {3, 20, 20}, {8, 0, true}, false), want);
}

TEST(WindowCutTest, WhatIsOutsideIsRefused) {
  const auto refused = [](const Window& window, const CutSettings& settings) {
    return error_of([&] { cut_window(window, {3, 10, 10}, settings, false); }).kind() == ErrorKind::kData;
  };
  EXPECT_TRUE(refused({.x1 = 5, .y1 = 5, .x2 = 10, .y2 = 9}, {4, 0, false}));
  EXPECT_TRUE(refused({.x1 = 100, .y1 = 100, .x2 = 120, .y2 = 120}, {8, 2, false}));
  EXPECT_TRUE(refused({.x1 = -120, .y1 = 1, .x2 = -100, .y2 = 3}, {8, 2, true}));
}

Error refusal(const std::string& text, bool may_leave_image = false) {
  TempDir dir;
  test::write_file(dir / "w.txt", text);
  return error_of([&] { WindowReader reader(dir / "w.txt", "", {0.5f, 0.5f, may_leave_image}, false); });
}

TEST(WindowFileTest, BrokenLinesAreNamed) {
  const std::string head = "# 0 a.png 3 10 10 1\n";
  const std::pair<const char*, int> broken[] = {{"# 1 a.png 3 10 10 0\n", 1},
                                                {"x 0 a.png 3 10 10 0\n", 1},
                                                {"# 0 a.png 3 0 10 0\n", 1},
                                                {"# 0 a.png 3 10 10 -1\n", 1},
                                                {"# 0 a.png 3 10 10 9000000000000000000\n1 1 0 0 1 1\n# 1 b", 3}};
  for (const auto& [text, line] : broken) {
    const Error error = refusal(text);
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    EXPECT_TRUE(error.location().ends_with("w.txt:" + std::to_string(line))) << text << error.what();
  }
  for (const char* window : {"1 1 0 0 1", "1 nan 0 0 1 1", "one 1 0 0 1 1", "1 1 5 5 4 6", "1 1 0 0 10 1",
                             "1 1 -1 0 1 1", "0 1 0 0 1 1", "1 1 0 0 99999999999999999999 1", "1 1 0 0.5 1 1"}) {
    const Error error = refusal(head + window + "\n");
    EXPECT_EQ(error.kind(), ErrorKind::kData) << window;
    EXPECT_TRUE(contains(error.location(), "w.txt:")) << window;
  }
  EXPECT_TRUE(refusal(head + "1 1 20 0 30 1\n", true).location().ends_with("w.txt:2"));
  EXPECT_EQ(refusal("").kind(), ErrorKind::kData);
}

TEST(WindowDataTest, SettingsThatCannotBe) {
  TempDir dir;
  const std::string windows = make_windows(dir);
  const auto field_of = [&](const std::string& settings, const std::string& transform = "crop_size: 4") {
    return error_of([&] { OpenedLayer layer(window_layer(windows, settings, transform)); }).field();
  };
  EXPECT_EQ(field_of(""), "window_data_param.batch_size");
  EXPECT_EQ(field_of("batch_size: 1", ""), "transform_param.crop_size");
  EXPECT_EQ(field_of("batch_size: 1", "crop_size: 4294967295"), "transform_param.crop_size");
  EXPECT_EQ(field_of("batch_size: 1 context_pad: 2"), "window_data_param.context_pad");
  EXPECT_EQ(field_of("batch_size: 1 context_pad: 4294967295"), "window_data_param.context_pad");
  EXPECT_EQ(field_of("batch_size: 1 crop_mode: 'round'"), "window_data_param.crop_mode");
  EXPECT_EQ(field_of("batch_size: 1 fg_fraction: nan"), "window_data_param.fg_fraction");
  EXPECT_EQ(field_of("batch_size: 1", "crop_size: 4 mean_value: 1 mean_value: 2"), "transform_param.mean_value");
  EXPECT_EQ(field_of("batch_size: 1 fg_threshold: 2 bg_threshold: 0.3"), "window_data_param.source");
  EXPECT_EQ(error_of([] { OpenedLayer layer(window_layer("/nowhere", "batch_size: 1")); }).kind(), ErrorKind::kData);
}

TEST(WindowDataTest, MissingImagesAreNamed) {
  TempDir dir;
  test::write_file(dir / "w.txt", "# 0 missing.png 3 10 10 1\n1 1 0 0 1 1\n");
  for (const char* cached : {"", "cache_images: true"}) {
    const Error error = error_of(
        [&] { OpenedLayer layer(window_layer(dir / "w.txt", std::string("batch_size: 1 fg_fraction: 1 ") + cached)); });
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    EXPECT_EQ(error.location(), (dir / "w.txt") + ":1");
    EXPECT_TRUE(contains(error.cause(), "missing.png"));
  }
}

}  // namespace
}  // namespace robusta::window_data_test
