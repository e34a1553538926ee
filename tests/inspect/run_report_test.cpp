// Curves of logs: what is kept of long ones, and how a terminal shows them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "inspect/report/report.h"
#include "inspect/runs/run_log_reader.h"
#include "inspect/small_picture.h"
#include "inspect/watch/dot_plot.h"

namespace robusta::test::run_report_test {
namespace {

RunSeries line_of(size_t count) {
  RunSeries series;
  for (size_t i = 0; i < count; ++i) {
    series.iter.push_back(static_cast<double>(i));
    series.seconds.push_back(static_cast<double>(i) / 10);
    series.value.push_back(std::sin(static_cast<double>(i)));
  }
  return series;
}

TEST(RunReport, LongCurvesKeepTheirEndsAndPeaks) {
  RunSeries series = line_of(100'000);
  series.value[54'321] = 1000;
  series.value[12'345] = -1000;
  series.value[77'777] = NAN;
  const RunSeries few = downsampled(series, 500);
  EXPECT_LE(few.iter.size(), 500u);
  EXPECT_GT(few.iter.size(), 400u);
  EXPECT_TRUE(std::is_sorted(few.iter.begin(), few.iter.end()));
  EXPECT_EQ(few.iter.front(), 0);
  EXPECT_EQ(few.iter.back(), 99'999);
  for (const double kept : {54'321.0, 12'345.0, 77'777.0}) {
    EXPECT_TRUE(std::binary_search(few.iter.begin(), few.iter.end(), kept)) << kept;
  }
}

TEST(RunReport, ShortCurvesStayAsTheyAre) {
  EXPECT_EQ(downsampled(line_of(500), 500).value, line_of(500).value);
  EXPECT_EQ(downsampled(line_of(5), 4).iter, (std::vector<double>{0, 2, 3, 4}));  // sin 2 is high, sin 3 low
}

TEST(RunReport, WhatIsDoneAgainTakesThePlaceOfWhatWas) {
  RunLog run;
  for (const double iter : {0, 1, 2, 3, 2}) run.add("loss", iter, 0, iter == 2 ? 7 : iter);
  EXPECT_EQ(run.series["loss"].iter, (std::vector<double>{0, 1, 2}));
  EXPECT_EQ(run.series["loss"].value.back(), 7);
}

TEST(RunPlot, IsAsLargeAsTold) {
  for (const PlotSize size : {PlotSize{80, 10}, PlotSize{24, 4}, PlotSize{200, 50}}) {
    const auto lines = dot_plot("train/loss", line_of(1000), size);
    EXPECT_EQ(std::ssize(lines), size.rows);
    for (const std::string& line : lines) {
      const auto characters = std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; });
      EXPECT_LE(characters, size.columns) << line;
    }
  }
}

TEST(RunPlot, DrawsALineFromCornerToCorner) {
  RunSeries series;
  for (int i = 0; i < 26; ++i) {
    series.iter.push_back(i);
    series.value.push_back(i);
    series.seconds.push_back(i);
  }
  const auto lines = dot_plot("up", series, {.columns = 24, .rows = 5});
  EXPECT_EQ(lines[0], "up 25");
  EXPECT_EQ(lines[1].substr(0, 12), "        25  ");
  EXPECT_EQ(lines[3].substr(0, 11), "         0 ");
  EXPECT_NE(lines[3].substr(11, 3), "   ");                // the beginning, at the bottom
  EXPECT_NE(lines[1].substr(lines[1].size() - 3), "   ");  // the end, at the top
  EXPECT_EQ(lines[4], "           0          25");
}

TEST(RunPlot, HasNothingThatATerminalObeys) {
  RunLog run;
  run.name = "\x1b]0;x\x07";
  run.add("\x1b[2J\xc2\x9b", 1, 0, 1);
  run.events.push_back({"error", 1, 0, "a\nb\x1b[31m"});
  double seen = -1;
  auto lines = run_screen(run, {80, 24});
  const auto more = new_lines(run, true, seen);
  lines.insert(lines.end(), more.begin(), more.end());
  for (const std::string& line : lines) {
    EXPECT_TRUE(std::none_of(line.begin(), line.end(), [](unsigned char c) { return c < 0x20; })) << line;
    EXPECT_EQ(line.find('\xc2'), std::string::npos) << line;
  }
}

TEST(RunPlot, LinesComeOnceWhenTheyAreWhole) {
  RunLog run;
  double seen = -1;
  run.add("a", 0, 0, 1);
  EXPECT_TRUE(new_lines(run, false, seen).empty());
  run.add("b", 0, 0, 2);
  run.add("a", 5, 0, 3);
  EXPECT_EQ(new_lines(run, false, seen), (std::vector<std::string>{"iteration 0  a 1  b 2"}));
  EXPECT_TRUE(new_lines(run, false, seen).empty());
  run.ended = true;
  EXPECT_EQ(new_lines(run, false, seen), (std::vector<std::string>{"iteration 5  a 3"}));
}

TEST(RunReport, Base64IsThatOfItsStandard) {
  const std::pair<const char*, const char*> known[] = {
      {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : known) EXPECT_EQ(base64(bytes), text);
}

}  // namespace
}  // namespace robusta::test::run_report_test
