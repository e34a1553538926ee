// A mean of milliseconds over stretches is no function of the mean speed and the mean share: an iteration that waits is
// slow as well. So iterations are split one by one, and what they are split into is averaged.

#include "inspect/report/curves.h"

#include <algorithm>
#include <cmath>

namespace robusta {
namespace {

/// Calls visit(begin, end) for at most `most` stretches of about the same length, which together are 0..count.
template <typename Visit>
void for_each_stretch(size_t count, size_t most, Visit visit) {
  const size_t stretches = std::min(count, most);
  for (size_t s = 0; s < stretches; ++s) visit(s * count / stretches, (s + 1) * count / stretches);
}

/// The value at exactly this iteration, else 0. `at` moves on with the iterations that are asked for.
double share_at(const RunSeries* series, double iter, size_t& at) {
  if (!series) return 0;
  while (at < series->iter.size() && series->iter[at] < iter) ++at;
  const bool there = at < series->iter.size() && series->iter[at] == iter && std::isfinite(series->value[at]);
  return there ? std::clamp(series->value[at], 0.0, 1.0) : 0;
}

const RunSeries* find(const RunLog& run, const char* tag) {
  const auto found = run.series.find(tag);
  return found == run.series.end() ? nullptr : &found->second;
}

RunSplit split_of_displays(const RunLog& run) {
  RunSplit split;
  const RunSeries *pace = find(run, "speed/iterations_per_second"), *wait = find(run, "speed/data_wait"),
                  *comm = find(run, "speed/communication");
  size_t in_wait = 0, in_comm = 0;
  for (size_t i = 0; pace && i < pace->iter.size(); ++i) {
    const double iter = pace->iter[i], waited = share_at(wait, iter, in_wait), reduced = share_at(comm, iter, in_comm);
    if (!(pace->value[i] > 0) || !std::isfinite(pace->value[i])) continue;
    const double whole = 1000 / pace->value[i];
    split.iter.push_back(iter);
    split.seconds.push_back(pace->seconds[i]);
    split.computing.push_back(whole * std::max(0.0, 1 - waited - reduced));
    split.data.push_back(whole * waited);
    split.communication.push_back(whole * reduced);
  }
  return split;
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
  for_each_stretch(count - 2, (most - 2) / 2, [&](size_t begin, size_t end) {
    size_t low = begin + 1, high = begin + 1;
    for (size_t i = begin + 1; i < end + 1; ++i) {
      if (rank(i) < rank(low)) low = i;
      if (rank(i) > rank(high)) high = i;
    }
    keep(std::min(low, high));
    if (low != high) keep(std::max(low, high));
  });
  keep(count - 1);
  return out;
}

RunSeries means_of(const RunSeries& series, size_t most) {
  RunSeries out;
  for_each_stretch(series.iter.size(), most, [&](size_t begin, size_t end) {
    double sum = 0, finite = 0;
    for (size_t i = begin; i < end; ++i) {
      if (!std::isfinite(series.value[i])) continue;
      sum += series.value[i];
      ++finite;
    }
    out.iter.push_back(series.iter[end - 1]);
    out.seconds.push_back(series.seconds[end - 1]);
    out.value.push_back(finite > 0 ? sum / finite : NAN);
  });
  return out;
}

RunSplit split_of(const RunLog& run, size_t most) {
  const RunSplit all = split_of_displays(run);
  RunSplit out;
  for_each_stretch(all.iter.size(), most, [&](size_t begin, size_t end) {
    // A display tells of the iterations since the one before; the first one of its own.
    double iterations = 0, computing = 0, data = 0, communication = 0;
    for (size_t i = begin; i < end; ++i) {
      const double of_display = i > 0 ? all.iter[i] - all.iter[i - 1] : 1;
      iterations += of_display;
      computing += of_display * all.computing[i];
      data += of_display * all.data[i];
      communication += of_display * all.communication[i];
    }
    out.iter.push_back(all.iter[end - 1]);
    out.seconds.push_back(all.seconds[end - 1]);
    out.computing.push_back(computing / iterations);
    out.data.push_back(data / iterations);
    out.communication.push_back(communication / iterations);
  });
  return out;
}

}  // namespace robusta
