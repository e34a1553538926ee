// The words are those of Caffe's own logs, and of Intel's and NVIDIA's, as scripts/robusta_files/caffe_log.py reads
// them; what Robusta adds to them (Speed) is read where it is there.

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "inspect/runs/line_kinds.h"

namespace robusta {
namespace {

constexpr double kDay = 24 * 3600;

/// Takes the prefix "I1122 09:15:02.123456 4711 solver.cpp:239] " away. Seconds of its clock, NaN where there is none.
double take_prefix(std::string_view& line, char& severity) {
  if (line.size() < 20 || std::string_view("IWEF").find(line[0]) == std::string_view::npos) return NAN;
  const size_t end = line.substr(0, 200).find("] ");
  const std::string head(line.substr(1, 40));
  const size_t digits = head.find(' ');
  if (end == std::string_view::npos || (digits != 4 && digits != 8)) return NAN;
  // A year that a line does not tell is one in which each day exists.
  const std::string date = digits == 8 ? head.substr(0, 8) : "2000" + head.substr(0, 4);
  std::tm parts = {};
  double seconds = 0;
  if (std::sscanf(date.c_str(), "%4d%2d%2d", &parts.tm_year, &parts.tm_mon, &parts.tm_mday) != 3) return NAN;
  if (std::sscanf(head.c_str() + digits, " %d:%d:%lf", &parts.tm_hour, &parts.tm_min, &seconds) != 3) return NAN;
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  severity = line[0];
  line.remove_prefix(end + 2);
  return static_cast<double>(timegm(&parts)) + seconds;
}

/// The number behind `words`; NaN where they, or it, are not there.
double number_behind(std::string_view text, std::string_view words) {
  const size_t at = text.find(words);
  if (at == std::string_view::npos) return NAN;
  const std::string rest(text.substr(at + words.size(), 40));
  char* end = nullptr;
  const double value = std::strtod(rest.c_str(), &end);
  return end == rest.c_str() ? NAN : value;
}

/// Takes what launchers write in front of the lines of each rank away: "0: " of srun -l, "[1,0]<stderr>:" of mpirun
/// --tag-output.
void take_rank(std::string_view& line) {
  const size_t begin = std::min(line.find_first_not_of(' '), line.size());
  const std::string_view rest = line.substr(begin, 100);
  if (rest.empty() || (rest[0] != '[' && !std::isdigit(static_cast<unsigned char>(rest[0])))) return;
  const size_t end = rest[0] == '[' ? rest.find(">:") : rest.find_first_not_of("0123456789");
  if (end == std::string_view::npos || (rest[0] != '[' && rest[end] != ':')) return;
  line.remove_prefix(begin + end + (rest[0] == '[' ? 2 : 1));
  if (line.starts_with(' ')) line.remove_prefix(1);
}

/// Only the second line of a blob tells that it has several values: the first one was taken for its only one.
void make_first_of_several(RunLog& run, const std::string& tag) {
  const auto found = run.series.find(tag);
  if (found == run.series.end()) return;
  const RunSeries only = std::move(found->second);
  run.series.erase(found);
  for (size_t i = 0; i < only.iter.size(); ++i) run.add(tag + "[0]", only.iter[i], only.seconds[i], only.value[i]);
}

bool has_words(std::string_view text, std::string_view words) { return text.find(words) != std::string_view::npos; }

}  // namespace

void TextLines::read(std::string_view line) {
  char severity = 'I';
  take_rank(line);
  const double clock = take_prefix(line, severity);
  if (std::isnan(clock)) return;
  if (has_words(line, "Solving ")) solving(line);
  if (line.starts_with("Resuming from ") || line.starts_with("Restoring previous solver status")) resuming(line);
  RunLog& run = so_far_.now();
  double seconds = so_far_.since_start(clock);
  if (seconds < -180 * kDay) seconds += 366 * kDay;  // New Year's Eve in a log without years
  if (severity != 'I' && !has_words(line, "[Backward]")) {
    // Behind the end of a training they are of the next one.
    auto& events = run.ended ? so_far_.early : run.events;
    events.push_back({severity == 'W' ? "warning" : "error", run.iter, seconds, std::string(line)});
    if (severity == 'F') run.begun = run.ended = true;
    return;
  }
  words(run, line, seconds);
}

/// Caffe says that it resumes before "Solving", or right behind it.
void TextLines::solving(std::string_view text) {
  RunLog& run = so_far_.resuming ? so_far_.now() : so_far_.begin();
  const bool told =
      std::any_of(run.facts.begin(), run.facts.end(), [](const auto& fact) { return fact.first == "net"; });
  if (!told) run.facts.emplace_back("net", std::string(text.substr(text.find("Solving ") + 8)));
  for (RunEvent& event : so_far_.early) {
    run.events.push_back({event.kind, run.iter, 0, std::move(event.text)});
  }
  so_far_.early.clear();
  so_far_.first_line.clear();
  run.begun = true;
  run.ended = false;
}

void TextLines::resuming(std::string_view text) {
  std::vector<RunLog>& runs = so_far_.runs;
  const bool just_begun = runs.size() > 1 && !runs.back().has_results();
  if (just_begun) {
    runs[runs.size() - 2].ended = false;
    runs.pop_back();
  }
  so_far_.resuming = true;
  so_far_.resumed_from = std::string(text);
}

void TextLines::words(RunLog& run, std::string_view text, double seconds) {
  if (has_words(text, " net output #")) return output(run, text, seconds);
  if (has_words(text, "    Speed: ")) return speed(run, text, seconds);
  if (has_words(text, "\tforward: ") || has_words(text, "\tbackward: ")) return layer(run, text);
  if (text.starts_with("Iteration ")) return iteration(run, text, seconds);
  if (text.starts_with("Test loss: ") || text.starts_with("Averaged test loss: ")) {
    return run.add(test_phase(text) + "/loss", run.iter, seconds, number_behind(text, "loss: "));
  }
  if (text.starts_with("Snapshotting to ") && !has_words(text, "solver state")) {
    run.events.push_back({"snapshot", run.iter, seconds, std::string(text)});
  }
  if (text.starts_with("Optimization Done.") && !run.ended) {
    run.ended = true;
    run.events.push_back({"end", run.iter, seconds, std::string(text)});
  }
}

void TextLines::iteration(RunLog& run, std::string_view text, double seconds) {
  const double at = number_behind(text, "Iteration ");
  if (std::isnan(at)) return;
  if (std::exchange(so_far_.resuming, false) && at > 0) {
    run.go_back_to(at);
    run.events.push_back({"resume", at, seconds, so_far_.resumed_from});
  }
  run.iter = at;
  const double net = number_behind(text, "net (#");
  if (net >= 0 && net < 1e6) so_far_.test_net = static_cast<int>(net);
  const double loss = number_behind(text, "loss = "), rate = number_behind(text, ", lr = ");
  if (has_words(text, "loss = ")) run.add("train/loss", at, seconds, loss);
  if (!std::isnan(rate)) run.add("train/lr", at, seconds, rate);
  const double pace = number_behind(text, " (");
  if (has_words(text, " iter/s") && pace > 0) run.add("speed/iterations_per_second", at, seconds, pace);
}

void TextLines::speed(RunLog& run, std::string_view text, double seconds) {
  const double at = run.iter, images = number_behind(text, "Speed: ");
  const double wait = number_behind(text, "data wait "), comm = number_behind(text, "comm ");
  if (!std::isnan(images)) run.add("speed/images_per_second", at, seconds, images);
  if (!std::isnan(wait)) run.add("speed/data_wait", at, seconds, wait / 100);
  if (!std::isnan(comm)) run.add("speed/communication", at, seconds, comm / 100);
  const double rank = number_behind(text, "slowest rank ");
  if (rank >= 0 && rank < 1e6) ++run.slowest[static_cast<int>(rank)];
}

std::string TextLines::test_phase(std::string_view text) const {
  const std::string phase = has_words(text, "Averaged") ? "averaged_test" : "test";
  return so_far_.test_net > 0 ? phase + '_' + std::to_string(so_far_.test_net) : phase;
}

/// A blob of several numbers has a line for each.
void TextLines::output(RunLog& run, std::string_view text, double seconds) {
  const size_t mark = text.find(" net output #"), colon = text.find(": ", mark), equal = text.find(" = ", mark);
  if (colon == std::string_view::npos || equal == std::string_view::npos || equal < colon) return;
  const double given = number_behind(text, " net output #");
  if (!(given >= 0 && given < 1e6)) return;
  const auto number = static_cast<int>(given);
  const bool training = has_words(text.substr(0, mark), "Train");
  std::string tag = (training ? "train" : test_phase(text.substr(0, mark))) + "/output/" +
                    std::string(text.substr(colon + 2, equal - colon - 2));
  const int first = so_far_.first_line.emplace(tag, number).first->second;
  if (number > first) make_first_of_several(run, tag);
  const bool several = number > first || run.series.contains(tag + "[0]");
  if (several) tag += '[' + std::to_string(number - first) + ']';
  run.add(tag, run.iter, seconds, number_behind(text.substr(equal), " = "));
}

/// Of caffe time.
void TextLines::layer(RunLog& run, std::string_view text) {
  const size_t tab = text.find('\t'), from = text.find_first_not_of(' ');
  const std::string name(text.substr(from, tab - from));
  if (run.layers.empty() || run.layers.back().name != name) run.layers.push_back({.name = name, .type = {}});
  const double forward = number_behind(text, "\tforward: "), backward = number_behind(text, "\tbackward: ");
  if (!std::isnan(forward)) run.layers.back().forward_ms = forward;
  if (!std::isnan(backward)) run.layers.back().backward_ms = backward;
}

}  // namespace robusta
