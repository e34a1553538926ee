// Each column of dots shows the range of the values that fall into it, so that no peak is lost.

#include "inspect/watch/dot_plot.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "base/str.h"

namespace robusta {
namespace {

constexpr int kAxis = 10;  // columns of the numbers at the left

struct DotRange {
  double low = HUGE_VAL, high = -HUGE_VAL;
  bool empty() const { return low > high; }
  void take(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

/// `dots` by `rows` of them, four rows of dots to a row of characters.
class Dots {
 public:
  Dots(int columns, int rows) : columns_(columns), rows_(rows), cells_(static_cast<size_t>(columns * rows)) {}
  int width() const { return 2 * columns_; }
  int height() const { return 4 * rows_; }
  void set(int x, int y) {
    static constexpr unsigned char kBits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    cells_[static_cast<size_t>((y / 4) * columns_ + x / 2)] |= kBits[y % 4][x % 2];
  }
  std::string row(int row) const {
    std::string text;
    for (int column = 0; column < columns_; ++column) {
      const unsigned char bits = cells_[static_cast<size_t>(row * columns_ + column)];
      if (bits == 0) {
        text += ' ';
        continue;
      }
      // U+2800 + bits in UTF-8.
      text += '\xe2';
      text += static_cast<char>(0xa0 | bits >> 6);
      text += static_cast<char>(0x80 | (bits & 0x3f));
    }
    return text;
  }

 private:
  int columns_, rows_;
  std::vector<unsigned char> cells_;
};

/// A log may hold anything, what moves the cursor or renames the window included.
std::string harmless(std::string text) {
  for (char& c : text) {
    if (c < 0x20 || c > 0x7e) c = '?';
  }
  return text;
}

std::string aligned(const std::string& text, int width) {
  const auto size = static_cast<int>(text.size());
  return size >= width ? text.substr(0, static_cast<size_t>(width))
                       : std::string(static_cast<size_t>(width - size), ' ') + text;
}

/// What the values of each column of dots reach from and to; a column without values joins its neighbours' line.
std::vector<DotRange> ranges_of(const RunSeries& series, int width) {
  std::vector<DotRange> ranges(static_cast<size_t>(width));
  const double first = series.iter.front(), span = std::max(series.iter.back() - first, 1e-9);
  double last_value = NAN;
  int last = -1;
  for (size_t i = 0; i < series.iter.size(); ++i) {
    const double value = series.value[i];
    if (!std::isfinite(value)) {
      last = -1;
      continue;
    }
    const int at = std::clamp(static_cast<int>((series.iter[i] - first) / span * (width - 1) + 0.5), 0, width - 1);
    for (int x = last + 1; last >= 0 && x < at; ++x) {
      ranges[static_cast<size_t>(x)].take(last_value + (value - last_value) * (x - last) / (at - last));
    }
    ranges[static_cast<size_t>(at)].take(value);
    last = at;
    last_value = value;
  }
  return ranges;
}

std::string headline(const RunLog& run) {
  std::string text = str(run.name, ": iteration ", short_number(run.iter));
  if (run.max_iter > 0) text += str(" of ", short_number(run.max_iter));
  if (run.ended) text += ", ended";
  for (auto event = run.events.rbegin(); event != run.events.rend(); ++event) {
    if (event->kind == "warning" || event->kind == "error") return text + ", last " + event->kind + ": " + event->text;
  }
  return text;
}

}  // namespace

std::string short_number(double value) {
  char text[32];
  const bool whole = value == std::floor(value) && std::abs(value) < 1e7;
  std::snprintf(text, sizeof text, whole ? "%.0f" : "%.4g", value);
  return text;
}

std::vector<std::string> dot_plot(const std::string& title, const RunSeries& series, PlotSize size) {
  const int rows = size.rows - 2, columns = size.columns - kAxis - 1;
  std::vector<std::string> lines{str(title, series.value.empty() ? "" : " " + short_number(series.value.back()))};
  lines[0] = harmless(lines[0]).substr(0, static_cast<size_t>(size.columns));
  Dots dots(columns, rows);
  DotRange all;
  for (const double value : series.value) all.take(value);
  if (!all.empty()) {
    const double span = all.high > all.low ? all.high - all.low : 1;
    const auto place = [&](double value) {
      return std::clamp(static_cast<int>((all.high - value) / span * (dots.height() - 1) + 0.5), 0, dots.height() - 1);
    };
    const std::vector<DotRange> ranges = ranges_of(series, dots.width());
    for (int x = 0; x < dots.width(); ++x) {
      const DotRange& range = ranges[static_cast<size_t>(x)];
      if (range.empty()) continue;
      for (int y = place(range.high); y <= place(range.low); ++y) dots.set(x, y);
    }
  }
  for (int row = 0; row < rows; ++row) {
    std::string label;
    if (!all.empty() && row == 0) label = short_number(all.high);
    if (!all.empty() && row == rows - 1) label = short_number(all.low);
    lines.push_back(aligned(label, kAxis) + " " + dots.row(row));
  }
  const std::string first = series.iter.empty() ? "" : short_number(series.iter.front());
  const std::string last = series.iter.empty() ? "" : short_number(series.iter.back());
  lines.push_back(std::string(kAxis + 1, ' ') + first + aligned(last, columns - static_cast<int>(first.size())));
  return lines;
}

std::vector<std::string> run_screen(const RunLog& run, PlotSize screen) {
  constexpr int kLeast = 8;  // rows of a curve
  std::vector<std::string> lines{headline(run)};
  lines[0] = harmless(lines[0]).substr(0, static_cast<size_t>(std::max(screen.columns, 1)));
  const std::vector<std::string> tags = tags_by_importance(run);
  if (tags.empty() || screen.columns < 24 || screen.rows < 6) return lines;
  const int room = screen.rows - 1;
  const int shown = std::clamp(room / kLeast, 1, static_cast<int>(tags.size()));
  for (int i = 0; i < shown; ++i) {
    const int rows = room / shown + (i < room % shown ? 1 : 0);
    const std::string& tag = tags[static_cast<size_t>(i)];
    const auto plot = dot_plot(tag, run.series.at(tag), {.columns = screen.columns, .rows = rows});
    lines.insert(lines.end(), plot.begin(), plot.end());
  }
  return lines;
}

std::vector<std::string> new_lines(const RunLog& run, bool all, double& seen) {
  std::map<double, std::string> by_iteration;
  for (const auto& [tag, series] : run.series) {
    const std::string name = "  " + harmless(tag) + ' ';
    for (size_t i = series.iter.size(); i-- > 0 && series.iter[i] > seen;) {
      if (!all && !run.ended && series.iter[i] >= run.iter) continue;
      by_iteration[series.iter[i]].append(name).append(short_number(series.value[i]));
    }
  }
  std::vector<std::string> lines;
  for (const auto& [iter, text] : by_iteration) lines.push_back("iteration " + short_number(iter) + text);
  if (!by_iteration.empty()) seen = by_iteration.rbegin()->first;
  return lines;
}

}  // namespace robusta
