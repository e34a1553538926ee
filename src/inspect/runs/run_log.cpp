// How a value joins its series, and which series matter.

#include "inspect/runs/run_log.h"

#include <algorithm>

namespace robusta {
namespace {

/// Takes the points from iteration `at` on away.
void cut_from(RunSeries& series, double at) {
  const auto kept = std::lower_bound(series.iter.begin(), series.iter.end(), at) - series.iter.begin();
  const auto count = static_cast<size_t>(kept);
  series.iter.resize(count);
  series.value.resize(count);
  series.seconds.resize(count);
}

int importance(const std::string& tag) {
  const int single = tag.ends_with(']') ? 10 : 0;  // "test/output/prob[7]"
  if (tag == "train/loss") return 0;
  if (tag.starts_with("test")) return single + 1;
  if (tag == "train/lr") return 2;
  if (tag == "speed/images_per_second") return 3;
  if (tag.starts_with("averaged_test")) return single + 4;
  return single + (tag.starts_with("train/") ? 5 : 6);
}

}  // namespace

void RunLog::add(const std::string& tag, double at, double seconds_now, double value) {
  RunSeries& s = series[tag];
  if (!s.iter.empty() && s.iter.back() > at) went_back_to = std::min(went_back_to, at);
  if (!s.iter.empty() && s.iter.back() >= at) cut_from(s, at);
  s.iter.push_back(at);
  s.value.push_back(value);
  s.seconds.push_back(seconds_now);
  iter = at;
}

void RunLog::go_back_to(double at) {
  went_back_to = std::min(went_back_to, at);
  for (auto s = series.begin(); s != series.end();) {
    cut_from(s->second, at);
    s = s->second.iter.empty() ? series.erase(s) : std::next(s);
  }
  iter = at;
}

std::vector<std::string> tags_by_importance(const RunLog& run) {
  std::vector<std::string> tags;
  for (const auto& [tag, series] : run.series) tags.push_back(tag);
  std::stable_sort(tags.begin(), tags.end(),
                   [](const auto& a, const auto& b) { return importance(a) < importance(b); });
  return tags;
}

}  // namespace robusta
