// A budget of bytes is shared out: curves first, then pictures, events and long texts. Text of the logs goes into the
// page as JSON in which no "<" stands, and the script sets it as text: nothing in a log becomes a part of the page.

#include "inspect/report/report.h"

#include <algorithm>
#include <cmath>

#include "base/str.h"
#include "base/version.h"
#include "inspect/report/assets.h"
#include "solver/reports/json_log.h"

namespace robusta {
namespace {

constexpr size_t kBytesOfCurves = 1'500'000, kBytesOfPictures = 600'000, kBytesOfEvents = 250'000;
constexpr size_t kBytesOfText = 250'000, kBytesOfCells = 250'000;
constexpr size_t kBytesPerPoint = 36;  // iteration, second and value with their commas
constexpr size_t kMostSeries = 500, kLongestText = 2000;

/// What is left of a share of the budget.
class Share {
 public:
  explicit Share(size_t bytes) : left_(bytes) {}
  bool take(size_t bytes) {
    if (bytes > left_) return full_ = true, false;
    left_ -= bytes;
    return true;
  }
  bool was_full() const { return full_; }

 private:
  size_t left_;
  bool full_ = false;
};

struct Budget {
  Share pictures{kBytesOfPictures}, events{kBytesOfEvents}, text{kBytesOfText}, cells{kBytesOfCells};
  size_t points = 0;  ///< of each series
  size_t series = 0, series_left_out = 0;
};

std::string cut(const std::string& text, size_t most = kLongestText) {
  return text.size() <= most ? text : text.substr(0, most) + " ...";
}

/// As many bytes as the text takes in JSON, at most.
size_t size_in_json(const std::string& text) { return 6 * text.size() + 40; }

std::string array_of_numbers(const std::vector<double>& values, const char* format) {
  std::string text = "[";
  for (const double value : values) {
    if (text.size() > 1) text += ',';
    char digits[40];
    if (std::isfinite(value)) std::snprintf(digits, sizeof digits, format, value);
    text += std::isfinite(value) ? digits : "null";
  }
  return text + ']';
}

std::string array_of(const std::vector<std::string>& members) {
  std::string text = "[";
  for (const std::string& member : members) {
    if (text.size() > 1) text += ',';
    text += member;
  }
  return text + ']';
}

std::string quoted_in_array(const std::string& text) {
  const std::string object = JsonObject().add("", text).text();  // {"": "text"}
  return object.substr(5, object.size() - 6);
}

JsonObject series_of(const RunLog& run, Budget& budget) {
  JsonObject all;
  for (const auto& [tag, whole] : run.series) {
    if (budget.series >= kMostSeries) {
      ++budget.series_left_out;
      continue;
    }
    ++budget.series;
    const RunSeries series = downsampled(whole, budget.points);
    all.add(cut(tag, 200), JsonObject()
                               .add_raw("iter", array_of_numbers(series.iter, "%.10g"))
                               .add_raw("seconds", array_of_numbers(series.seconds, "%.7g"))
                               .add_raw("value", array_of_numbers(series.value, "%.6g")));
  }
  return all;
}

std::string layers_of_run(const RunLog& run, Budget& budget) {
  std::vector<std::string> rows;
  for (const RunLayer& layer : run.layers) {
    const std::string row = JsonObject()
                                .add("name", cut(layer.name, 100))
                                .add("type", cut(layer.type, 100))
                                .add("forward_ms", layer.forward_ms)
                                .add("backward_ms", layer.backward_ms)
                                .add("bytes", layer.bytes)
                                .text();
    if (budget.text.take(row.size())) rows.push_back(row);
  }
  return array_of(rows);
}

/// The cells that are not 0, as [label, prediction, count].
std::string cells_of(const RunConfusion& confusion, Budget& budget) {
  std::vector<std::string> cells;
  for (size_t label = 0; label < confusion.counts.size(); ++label) {
    for (size_t found = 0; found < confusion.counts.size(); ++found) {
      const double count = confusion.counts[label][found];
      if (!(count > 0)) continue;
      const std::string cell = str('[', label, ',', found, ',', count, ']');
      if (budget.cells.take(cell.size() + 1)) cells.push_back(cell);
    }
  }
  return array_of(cells);
}

std::string top_losses_of(const RunLog& run, Budget& budget) {
  std::vector<std::string> samples;
  for (const RunTopLoss& sample : run.top_losses) {
    const bool plain = sample.png.find_first_of("\"\\<>") == std::string::npos;
    JsonObject object;
    object.add("record", cut(sample.record, 200)).add("label", cut(sample.label, 50));
    object.add("prediction", cut(sample.prediction, 50)).add("loss", sample.loss);
    if (!budget.text.take(object.text().size())) break;
    object.add("png", plain && budget.pictures.take(sample.png.size()) ? sample.png : "");
    samples.push_back(object.text());
  }
  return array_of(samples);
}

std::string facts_of(const RunLog& run, Budget& budget) {
  std::vector<std::string> facts;
  for (const auto& [name, value] : run.facts) {
    const std::string fact = array_of({quoted_in_array(cut(name, 100)), quoted_in_array(cut(value, 500))});
    if (budget.text.take(fact.size())) facts.push_back(fact);
  }
  return array_of(facts);
}

std::string run_object(const RunLog& run, Budget& budget) {
  JsonObject slowest;
  for (const auto& [rank, times] : run.slowest) slowest.add(std::to_string(rank), times);
  const auto text = [&](const std::string& whole) {
    const std::string part = cut(whole, 20'000);
    return budget.text.take(size_in_json(part)) ? part : std::string();
  };
  JsonObject object;
  object.add("name", cut(run.name, 200)).add("series", series_of(run, budget)).add("slowest", slowest);
  object.add("command", text(run.command)).add("directory", text(run.directory)).add("solver", text(run.solver));
  object.add_raw("facts", facts_of(run, budget)).add_raw("layers", layers_of_run(run, budget));
  object.add_raw("top_losses", top_losses_of(run, budget));
  if (run.confusion) {
    object.add("confusion", JsonObject()
                                .add("classes", static_cast<int64_t>(run.confusion->counts.size()))
                                .add_raw("cells", cells_of(*run.confusion, budget)));
  }
  return object.text();
}

/// The latest ones where there are too many.
std::string events_of(const std::vector<RunLog>& runs, Budget& budget) {
  std::vector<std::string> events;
  for (size_t run = 0; run < runs.size(); ++run) {
    for (auto event = runs[run].events.rbegin(); event != runs[run].events.rend(); ++event) {
      const std::string object = JsonObject()
                                     .add("run", static_cast<int64_t>(run))
                                     .add("kind", cut(event->kind, 50))
                                     .add("iter", event->iter)
                                     .add("seconds", event->seconds)
                                     .add("text", cut(event->text, 300))
                                     .text();
      if (!budget.events.take(object.size() + 1)) break;
      events.push_back(object);
    }
  }
  std::reverse(events.begin(), events.end());
  return array_of(events);
}

std::string said_of(const Budget& budget) {
  std::string text;
  if (budget.series_left_out > 0) text += str(budget.series_left_out, " further curves");
  const std::pair<const Share*, const char*> shares[] = {{&budget.pictures, "some pictures"},
                                                         {&budget.events, "the earliest events"},
                                                         {&budget.cells, "some cells of the confusion matrix"},
                                                         {&budget.text, "some texts"}};
  for (const auto& [share, name] : shares) {
    if (share->was_full()) text += (text.empty() ? "" : ", ") + std::string(name);
  }
  return text.empty() ? "" : "Left out, for the size of this page: " + text + ".";
}

Budget budget_for(const std::vector<RunLog>& runs) {
  size_t series = 0;
  for (const RunLog& run : runs) series += run.series.size();
  Budget budget;
  series = std::clamp<size_t>(series, 1, kMostSeries);
  budget.points = std::clamp<size_t>(kBytesOfCurves / kBytesPerPoint / series, 4, 4000);
  return budget;
}

/// UTF-8 whatever the log held, and no "<", which could end the element that holds the JSON.
std::string for_script(const std::string& json) {
  std::string out;
  out.reserve(json.size());
  for (size_t i = 0; i < json.size(); ++i) {
    const auto c = static_cast<unsigned char>(json[i]);
    const size_t more = c < 0x80 ? 0 : c < 0xc2 ? 9 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : c < 0xf5 ? 3 : 9;
    bool whole = more < 9 && i + more < json.size();
    for (size_t k = 1; whole && k <= more; ++k) whole = (static_cast<unsigned char>(json[i + k]) & 0xc0) == 0x80;
    if (!whole) {
      out += '?';
    } else if (c == '<') {
      out += "\\u003c";
    } else {
      out.append(json, i, more + 1);
      i += more;
    }
  }
  return out;
}

}  // namespace

RunSeries downsampled(const RunSeries& series, size_t most) {
  const size_t count = series.iter.size();
  if (count <= most) return series;
  RunSeries out;
  const auto keep = [&](size_t at) {
    out.iter.push_back(series.iter[at]);
    out.seconds.push_back(series.seconds[at]);
    out.value.push_back(series.value[at]);
  };
  // What is not finite counts as the greatest: that a loss was NaN must not get lost.
  const auto rank = [&](size_t at) { return std::isfinite(series.value[at]) ? series.value[at] : HUGE_VAL; };
  keep(0);
  const size_t stretches = (most - 2) / 2, inner = count - 2;
  for (size_t s = 0; s < stretches; ++s) {
    const size_t begin = 1 + s * inner / stretches, end = 1 + (s + 1) * inner / stretches;
    size_t low = begin, high = begin;
    for (size_t i = begin; i < end; ++i) {
      if (rank(i) < rank(low)) low = i;
      if (rank(i) > rank(high)) high = i;
    }
    keep(std::min(low, high));
    if (low != high) keep(std::max(low, high));
  }
  keep(count - 1);
  return out;
}

std::string report_page(const std::vector<RunLog>& runs) {
  Budget budget = budget_for(runs);
  std::vector<std::string> objects;
  for (const RunLog& run : runs) objects.push_back(run_object(run, budget));
  JsonObject data;
  data.add("version", kVersion).add_raw("runs", array_of(objects)).add_raw("events", events_of(runs, budget));
  data.add("left_out", said_of(budget));
  // An icon of its own keeps browsers from asking a server for one.
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Training report</title>\n"
      "<link rel=\"icon\" href=\"data:,\">\n<style>\n";
  page += report_style();
  page += "</style>\n</head>\n<body>\n<h1>Training report</h1>\n<div id=\"page\"></div>\n";
  page += "<script type=\"application/json\" id=\"data\">" + for_script(data.text()) + "</script>\n<script>\n";
  page += report_script();
  page += "</script>\n</body>\n</html>\n";
  return page;
}

}  // namespace robusta
