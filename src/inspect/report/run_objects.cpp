// What is measured against the budget is what goes into the page, escapes included.

#include "inspect/report/run_objects.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/own_command.h"
#include "base/str.h"
#include "inspect/report/curves.h"
#include "solver/reports/json_log.h"

namespace robusta {
namespace {

constexpr size_t kBytesPerPoint = 36;  // iteration, second and value with their commas
constexpr size_t kMostPoints = 4000, kMostCurves = 500;
constexpr const char* kSlowestRank = "communication/slowest_rank";  // drawn as a part of slowest_lag
constexpr size_t kLongestName = 200, kLongestText = 20'000;

/// Members of a JSON array for the page.
class PageArray {
 public:
  void add(const std::string& member) { text_ += (text_.size() > 1 ? "," : "") + member; }
  /// False: the share has no room for it.
  bool add_if_room(const std::string& json, Share& share) {
    const std::string member = json_for_page(json);
    if (!share.take(member.size() + 1)) return false;
    return add(member), true;
  }
  std::string text() const { return text_ + ']'; }

 private:
  std::string text_ = "[";
};

std::string array_of_numbers(const std::vector<double>& values, const char* format) {
  PageArray array;
  for (const double value : values) {
    char digits[40];
    if (std::isfinite(value)) std::snprintf(digits, sizeof digits, format, value);
    array.add(std::isfinite(value) ? digits : "null");
  }
  return array.text();
}

std::string quoted(const std::string& text) {
  const std::string object = JsonObject().add("", text).text();  // {"": "text"}
  return object.substr(5, object.size() - 6);
}

JsonObject curve_object(const RunSeries& series) {
  JsonObject object;
  object.add_raw("iter", array_of_numbers(series.iter, "%.10g"));
  object.add_raw("seconds", array_of_numbers(series.seconds, "%.7g"));
  return object.add_raw("value", array_of_numbers(series.value, "%.6g"));
}

/// Those that the page draws smoothed need their means, too: extremes alone have another mean.
bool is_smoothed(const std::string& tag) { return tag == "train/loss" || tag.starts_with("train/output/"); }

/// Which rank it was, of the lags that the page shows.
std::string slowest_ranks(const RunLog& run, size_t points) {
  const RunSeries &lags = run.series.at("communication/slowest_lag"), &ranks = run.series.at(kSlowestRank);
  std::vector<double> of_lags;
  for (const double iter : downsampled(lags, points).iter) {
    const auto at = std::lower_bound(ranks.iter.begin(), ranks.iter.end(), iter);
    of_lags.push_back(at != ranks.iter.end() && *at == iter ? ranks.value[static_cast<size_t>(at - ranks.iter.begin())]
                                                            : NAN);
  }
  return array_of_numbers(of_lags, "%.0f");
}

JsonObject series_of(const RunLog& run, const std::vector<std::string>& tags, size_t points) {
  JsonObject all;
  for (const std::string& tag : tags) {
    const RunSeries& whole = run.series.at(tag);
    const bool with_means = is_smoothed(tag) && whole.iter.size() > points * 2 / 3;
    JsonObject object = curve_object(downsampled(whole, with_means ? points * 2 / 3 : points));
    if (with_means) object.add("mean", curve_object(means_of(whole, points / 3)));
    if (tag == "communication/slowest_lag") object.add_raw("rank", slowest_ranks(run, points));
    all.add(cut(tag, kLongestName), object);
  }
  return all;
}

std::string split_object(const RunSplit& split) {
  return JsonObject()
      .add_raw("iter", array_of_numbers(split.iter, "%.10g"))
      .add_raw("seconds", array_of_numbers(split.seconds, "%.7g"))
      .add_raw("computing", array_of_numbers(split.computing, "%.6g"))
      .add_raw("data", array_of_numbers(split.data, "%.6g"))
      .add_raw("communication", array_of_numbers(split.communication, "%.6g"))
      .text();
}

std::string layers_of(const RunLog& run, PageBudget& budget) {
  PageArray rows;
  for (const RunLayer& layer : run.layers) {
    rows.add_if_room(JsonObject()
                         .add("name", cut(layer.name, kLongestName))
                         .add("type", cut(layer.type, kLongestName))
                         .add("forward_ms", layer.forward_ms)
                         .add("backward_ms", layer.backward_ms)
                         .add("bytes", layer.bytes)
                         .text(),
                     budget.texts);
  }
  return rows.text();
}

/// The cells that are not 0, as [label, prediction, count].
std::string cells_of(const RunConfusion& confusion, PageBudget& budget) {
  PageArray cells;
  for (size_t label = 0; label < confusion.counts.size(); ++label) {
    for (size_t found = 0; found < confusion.counts.size(); ++found) {
      const double count = confusion.counts[label][found];
      if (count > 0) cells.add_if_room(str('[', label, ',', found, ',', count, ']'), budget.cells);
    }
  }
  return cells.text();
}

std::string top_losses_of(const RunLog& run, PageBudget& budget) {
  PageArray samples;
  for (const RunTopLoss& sample : run.top_losses) {
    const bool plain = sample.png.find_first_of("\"\\<>") == std::string::npos;
    JsonObject object;
    object.add("record", cut(sample.record, kLongestName)).add("label", cut(sample.label, 50));
    object.add("prediction", cut(sample.prediction, 50)).add("loss", sample.loss);
    if (!budget.texts.take(json_for_page(object.text()).size() + 20)) break;
    object.add("png", plain && budget.pictures.take(sample.png.size()) ? sample.png : "");
    samples.add(json_for_page(object.text()));
  }
  return samples.text();
}

std::string facts_of(const RunLog& run, PageBudget& budget) {
  PageArray facts;
  for (const auto& [name, value] : run.facts) {
    facts.add_if_room('[' + quoted(cut(name, 100)) + ',' + quoted(cut(value, 500)) + ']', budget.texts);
  }
  return facts.text();
}

/// [rank, displays], the slowest first.
std::string slowest_of(const RunLog& run, PageBudget& budget) {
  std::vector<std::pair<int, int>> ranks(run.slowest.begin(), run.slowest.end());
  std::stable_sort(ranks.begin(), ranks.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  constexpr size_t kShown = 100;
  if (ranks.size() > kShown) ranks.resize(kShown);
  PageArray rows;
  for (const auto& [rank, times] : ranks) rows.add_if_room(str('[', rank, ',', times, ']'), budget.texts);
  return rows.text();
}

/// What a shell can be given: a line for the folder and one for the command, of each start.
std::string repetition_of(const RunLog& run) {
  std::string text;
  for (const RunStart& start : run.starts) {
    if (start.command.empty()) continue;
    if (run.starts.size() > 1) text += str("# from iteration ", static_cast<int64_t>(start.iter), "\n");
    if (!start.directory.empty()) text += "cd " + shell_word(start.directory) + '\n';
    if (start.ranks > 1 && start.launcher.empty()) {
      text += str("# on ", static_cast<int64_t>(start.ranks), " ranks; how they were started is not known\n");
    }
    text += (start.launcher.empty() ? start.command : start.launcher) + '\n';
  }
  return text;
}

std::string run_object(const RunLog& run, const std::vector<std::string>& tags, size_t points, PageBudget& budget) {
  const auto text = [&](const std::string& whole) {
    const std::string part = cut(whole, kLongestText);
    return budget.texts.take(json_for_page(quoted(part)).size()) ? part : std::string();
  };
  JsonObject object;
  object.add("name", cut(run.name, kLongestName)).add("series", series_of(run, tags, points));
  if (const RunSplit split = split_of(run, points); !split.iter.empty()) object.add_raw("split", split_object(split));
  object.add("repeat", text(repetition_of(run))).add("solver", text(run.solver));
  std::string json = json_for_page(object.text());
  json.pop_back();
  json += ",\"facts\":" + facts_of(run, budget) + ",\"slowest\":" + slowest_of(run, budget);
  json += ",\"layers\":" + layers_of(run, budget) + ",\"top_losses\":" + top_losses_of(run, budget);
  if (run.confusion) {
    json += str(",\"confusion\":{\"classes\":", run.confusion->counts.size(), ",\"cells\":");
    json += cells_of(*run.confusion, budget) + '}';
  }
  return json + '}';
}

/// Of all runs the curves that matter most first: however many a run has, the others have theirs.
std::vector<std::vector<std::string>> chosen_tags(const std::vector<const RunLog*>& runs, PageBudget& budget) {
  std::vector<std::vector<std::string>> all, chosen(runs.size());
  size_t most = 0, left = kMostCurves;
  for (const RunLog* run : runs) {
    all.push_back(tags_by_importance(*run));
    std::erase(all.back(), kSlowestRank);
    most = std::max(most, all.back().size());
  }
  for (size_t place = 0; place < most; ++place) {
    for (size_t run = 0; run < runs.size(); ++run) {
      if (place >= all[run].size()) continue;
      if (left == 0) {
        ++budget.curves_left_out;
        continue;
      }
      chosen[run].push_back(all[run][place]);
      --left;
    }
  }
  return chosen;
}

std::string event_object(size_t run, const RunEvent& event) {
  return json_for_page(JsonObject()
                           .add("run", static_cast<int64_t>(run))
                           .add("kind", cut(event.kind, 50))
                           .add("iter", event.iter)
                           .add("seconds", event.seconds)
                           .add("text", cut(event.text, 300))
                           .text());
}

}  // namespace

std::vector<const RunLog*> runs_with_room(const std::vector<RunLog>& runs, PageBudget& budget) {
  std::vector<const RunLog*> shown;
  constexpr size_t kFrame = 700;  // names of members, the legend's entry, a curve of four points
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    if (!budget.runs.take(kFrame + json_for_page(cut(run->name, kLongestName)).size())) break;
    shown.push_back(&*run);
  }
  std::reverse(shown.begin(), shown.end());
  budget.runs_left_out = runs.size() - shown.size();
  return shown;
}

std::string runs_for_page(const std::vector<const RunLog*>& runs, PageBudget& budget) {
  const auto tags = chosen_tags(runs, budget);
  size_t curves = 1;
  for (size_t run = 0; run < runs.size(); ++run) {
    // The split into three has five arrays.
    curves += tags[run].size() + (runs[run]->series.contains("speed/iterations_per_second") ? 2 : 0);
  }
  const size_t points = std::clamp<size_t>(budget.curves / kBytesPerPoint / curves, 6, kMostPoints);
  PageArray array;
  for (size_t run = 0; run < runs.size(); ++run) array.add(run_object(*runs[run], tags[run], points, budget));
  return array.text();
}

std::string events_for_page(const std::vector<const RunLog*>& runs, PageBudget& budget) {
  std::vector<std::vector<std::string>> latest(runs.size());  // of each run, the latest first
  bool more = true;
  for (size_t place = 0, left = budget.events; more; ++place) {
    more = false;
    for (size_t run = 0; run < runs.size(); ++run) {
      const std::vector<RunEvent>& events = runs[run]->events;
      if (place >= events.size()) continue;
      std::string object = event_object(run, events[events.size() - 1 - place]);
      budget.events_left_out |= object.size() + 1 > left;
      if (budget.events_left_out) break;
      left -= object.size() + 1;
      latest[run].push_back(std::move(object));
      more = true;
    }
    more = more && !budget.events_left_out;
  }
  PageArray array;
  for (const auto& events : latest) {
    for (auto event = events.rbegin(); event != events.rend(); ++event) array.add(*event);
  }
  return array.text();
}

}  // namespace robusta
