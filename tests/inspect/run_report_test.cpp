// Curves of logs: what is kept of long ones, and how a terminal shows them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "inspect/report/curves.h"
#include "inspect/report/report.h"
#include "inspect/runs/line_cutter.h"
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

TEST(RunReport, MeansAreThoseOfTheirStretches) {
  RunSeries series = line_of(100'000);
  series.value[7] = NAN;
  for (size_t i = 600; i < 700; ++i) series.value[i] = NAN;
  const RunSeries means = means_of(series, 1000);
  ASSERT_EQ(means.iter.size(), 1000u);
  EXPECT_EQ(means.iter[0], 99);
  EXPECT_EQ(means.iter.back(), 99'999);
  double first = 0;
  for (size_t i = 0; i < 100; ++i) first += i == 7 ? 0 : series.value[i];
  EXPECT_DOUBLE_EQ(means.value[0], first / 99);
  EXPECT_TRUE(std::isnan(means.value[6]));
  EXPECT_EQ(means_of(line_of(5), 10).value, line_of(5).value);
}

TEST(RunReport, IterationsAreSplitBeforeTheyAreAveraged) {
  RunLog run;
  double whole = 0, waited = 0, reduced = 0, iterations = 0;
  for (int i = 0; i < 5000; ++i) {
    const int at = 10 * i, of_display = i == 0 ? 1 : 10;
    const double ms = i % 50 == 3 ? 110 : 10, wait = i % 50 == 3 ? 0.9 : 0, comm = 0.05;
    run.add("speed/iterations_per_second", at, i, 1000 / ms);
    if (i != 77) run.add("speed/data_wait", at, i, wait);
    run.add("speed/communication", at, i, comm);
    iterations += of_display;
    whole += ms * of_display;
    waited += (i == 77 ? 0 : ms * wait) * of_display;
    reduced += ms * comm * of_display;
  }
  const RunSplit one = split_of(run, 1);
  ASSERT_EQ(one.iter.size(), 1u);
  EXPECT_NEAR(one.data[0], waited / iterations, 1e-9);
  EXPECT_NEAR(one.communication[0], reduced / iterations, 1e-9);
  EXPECT_NEAR(one.computing[0], (whole - waited - reduced) / iterations, 1e-9);
  const RunSplit all = split_of(run, 10'000);
  ASSERT_EQ(all.iter.size(), 5000u);
  EXPECT_NEAR(all.data[3], 99, 1e-9);
  EXPECT_EQ(all.data[4], 0);
  EXPECT_TRUE(split_of(RunLog(), 10).iter.empty());
}

TEST(RunReport, LinesAreCutWhereverBlocksEnd) {
  const std::string text = "one\n\nthree is long\nrest";
  for (size_t block = 1; block <= text.size(); ++block) {
    std::vector<std::string> lines;
    const auto take = [&](std::string_view line) { lines.emplace_back(line); };
    LineCutter cutter;
    for (size_t at = 0; at < text.size(); at += block) cutter.take(std::string_view(text).substr(at, block), take);
    EXPECT_EQ(lines, (std::vector<std::string>{"one", "", "three is long"})) << block;
    cutter.finish(take);
    EXPECT_EQ(lines.back(), "rest");
  }
}

TEST(RunReport, ALineThatIsTooLongIsPassedOverAsAWhole) {
  std::vector<std::string> lines;
  const auto take = [&](std::string_view line) { lines.emplace_back(line.substr(0, 9)); };
  LineCutter cutter;
  const std::string block(LineCutter::kLongestLine / 2 + 1, 'x');
  cutter.take("a\n" + block, take);
  for (int i = 0; i < 3; ++i) cutter.take(block, take);
  cutter.take("its end\nb\n", take);
  EXPECT_EQ(lines, (std::vector<std::string>{"a", "b"}));
}

TEST(RunReport, ATrainingGoesBackAsAWhole) {
  RunLog run;
  for (const double iter : {0, 5, 10}) run.add("train/loss", iter, 0, iter);
  run.add("test/loss", 10, 0, 1);
  EXPECT_EQ(run.went_back_to, HUGE_VAL);
  run.go_back_to(5);
  EXPECT_EQ(run.went_back_to, 5);
  EXPECT_EQ(run.series["train/loss"].iter, (std::vector<double>{0}));
  EXPECT_FALSE(run.series.contains("test/loss"));
}

TEST(RunReport, WhatMattersMostComesFirst) {
  RunLog run;
  for (const char* tag : {"speed/data_wait", "test/output/prob[3]", "train/lr", "test/output/accuracy", "train/loss"}) {
    run.add(tag, 0, 0, 1);
  }
  EXPECT_EQ(tags_by_importance(run), (std::vector<std::string>{"train/loss", "test/output/accuracy", "train/lr",
                                                               "speed/data_wait", "test/output/prob[3]"}));
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
