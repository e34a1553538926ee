// Members that an event lacks, or that are of another type, are not there: a log may be of another version.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <limits>

#include "inspect/runs/line_kinds.h"
#include "robusta/error.h"

namespace robusta {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

std::string text_at(const TextTree& tree, const char* name) {
  const TextTree* member = tree.find(name);
  return member ? member->text : "";
}

/// NaN: there is none.
double number_of(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return text.empty() || *end != '\0' ? kNoNumber : value;
}

double number_at(const TextTree& tree, const char* name) { return number_of(text_at(tree, name)); }
double number_or_0(const TextTree& tree, const char* name) {
  const double value = number_at(tree, name);
  return std::isfinite(value) ? value : 0;
}

/// Seconds since 1970 of "2026-01-31T12:00:00.123Z"; NaN for other text.
double clock_of(const std::string& text) {
  std::tm parts = {};
  double seconds = 0;
  const int found = std::sscanf(text.c_str(), "%d-%d-%dT%d:%d:%lf", &parts.tm_year, &parts.tm_mon, &parts.tm_mday,
                                &parts.tm_hour, &parts.tm_min, &seconds);
  if (found != 6) return kNoNumber;
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  return static_cast<double>(timegm(&parts)) + seconds;
}

void add_number(RunLog& run, const std::string& tag, double at, double seconds, double value) {
  if (!std::isnan(value)) run.add(tag, at, seconds, value);
}

/// null is a number that was not finite.
void add_outputs_of(RunLog& run, const TextTree& event, const std::string& phase, double at, double seconds) {
  if (const TextTree* outputs = event.find("outputs")) {
    for (const TextTree& output : outputs->children) {
      run.add(phase + "/output/" + output.name, at, seconds, number_of(output.text));
    }
  }
}

std::vector<RunLayer> layers_of(const TextTree& event) {
  std::vector<RunLayer> layers;
  if (const TextTree* rows = event.find("layers")) {
    for (const TextTree& row : rows->children) {
      layers.push_back({.name = text_at(row, "name"),
                        .type = text_at(row, "type"),
                        .forward_ms = number_or_0(row, "forward_ms"),
                        .backward_ms = number_or_0(row, "backward_ms"),
                        .bytes = number_or_0(row, "bytes")});
    }
  }
  return layers;
}

}  // namespace

void JsonLines::read(std::string_view line) {
  TextTree event;
  try {
    event = parse_json(line, "event");
  } catch (const Error&) {
    return;  // a line that is still being written, or was never one of ours
  }
  const std::string kind = text_at(event, "event");
  if (kind.empty()) return;
  const double clock = clock_of(text_at(event, "time"));
  if (kind == "start") return start(event, clock);
  RunLog& run = so_far_.now();
  const double seconds = std::isnan(clock) ? 0 : so_far_.since_start(clock);
  const double given = number_at(event, "iter"), at = std::isnan(given) ? run.iter : given;
  if (kind == "train") {
    train(run, event, at, seconds);
  } else if (kind == "communication") {
    communication(run, event, at, seconds);
  } else if (kind == "test" || kind == "averaged_test") {
    const double net = number_at(event, "net");
    const std::string phase = net > 0 ? kind + '_' + text_at(event, "net") : kind;
    if (event.find("loss")) run.add(phase + "/loss", at, seconds, number_at(event, "loss"));
    add_outputs_of(run, event, phase, at, seconds);
  } else if (kind == "final") {
    add_number(run, "train/loss", at, seconds, number_at(event, "loss"));
  } else if (kind == "layer_times") {
    run.layers = layers_of(event);
  } else if (kind == "confusion" || kind == "top_losses") {
    scored(run, event);
  } else {
    note(run, event, kind, at, seconds);
  }
}

void JsonLines::start(const TextTree& event, double clock) {
  const double iter = number_or_0(event, "iter");
  // What began at 0 is another training; what did not goes on with the one before.
  RunLog& run = iter > 0 ? so_far_.now() : so_far_.begin();
  const double seconds = std::isnan(clock) ? 0 : so_far_.since_start(clock);
  if (iter > 0) {
    run.go_back_to(iter);
    run.events.push_back({"resume", iter, seconds, "resumed at iteration " + text_at(event, "iter")});
  }
  for (RunEvent& warning : so_far_.early) run.events.push_back({warning.kind, iter, seconds, std::move(warning.text)});
  so_far_.early.clear();
  run.starts.push_back({iter, text_at(event, "command"), text_at(event, "directory"), text_at(event, "launcher"),
                        number_or_0(event, "ranks")});
  run.facts.clear();
  run.begun = true;
  run.ended = false;
  run.max_iter = number_or_0(event, "max_iter");
  for (const TextTree& member : event.children) {
    const std::string& name = member.name;
    if (name == "solver") run.solver = member.text;
    const bool long_text =
        name == "command" || name == "directory" || name == "launcher" || name == "solver" || name == "event";
    if (!long_text && member.children.empty()) run.facts.emplace_back(name, member.text);
  }
}

void JsonLines::train(RunLog& run, const TextTree& event, double at, double seconds) {
  // null: the loss is not finite. That is shown, too.
  run.add("train/loss", at, seconds, number_at(event, "loss"));
  add_number(run, "train/lr", at, seconds, number_at(event, "lr"));
  add_outputs_of(run, event, "train", at, seconds);
  add_number(run, "speed/images_per_second", at, seconds, number_at(event, "img_per_s"));
  add_number(run, "speed/iterations_per_second", at, seconds, number_at(event, "iter_per_s"));
  add_number(run, "speed/data_wait", at, seconds, number_at(event, "data_wait"));
  add_number(run, "speed/communication", at, seconds, number_at(event, "comm"));
  add_number(run, "train/loss_scale", at, seconds, number_at(event, "loss_scale"));
  const double slowest = number_at(event, "slowest_rank");
  if (slowest >= 0 && slowest < 1e6) ++run.slowest[static_cast<int>(slowest)];
}

/// Milliseconds of an iteration that the reductions along each dimension of ranks took, and by what share the slowest
/// rank computed longer than the middle one.
void JsonLines::communication(RunLog& run, const TextTree& event, double at, double seconds) {
  add_number(run, "communication/slowest_rank", at, seconds, number_at(event, "slowest_rank"));
  add_number(run, "communication/slowest_lag", at, seconds, number_at(event, "slowest_lag"));
  const double iterations = number_at(event, "iterations");
  const TextTree* dimensions = event.find("dimensions");
  if (!dimensions || !(iterations > 0)) return;
  for (const TextTree& dimension : dimensions->children) {
    const double milliseconds = 1e3 * number_at(dimension, "seconds") / iterations;
    add_number(run, "communication/" + dimension.name + "_ms", at, seconds, milliseconds);
  }
}

/// What `caffe test -confusion -top_losses` found.
void JsonLines::scored(RunLog& run, const TextTree& event) {
  if (const TextTree* rows = event.find("matrix")) {
    RunConfusion confusion{.scores = text_at(event, "scores"), .counts = {}};
    for (const TextTree& row : rows->children) {
      std::vector<double>& counts = confusion.counts.emplace_back();
      for (const TextTree& cell : row.children) counts.push_back(number_of(cell.text));
      if (counts.size() != rows->children.size()) return;  // no square: not ours
    }
    run.confusion = std::move(confusion);
  }
  if (const TextTree* samples = event.find("samples")) {
    run.top_losses.clear();
    for (const TextTree& sample : samples->children) {
      run.top_losses.push_back({.record = text_at(sample, "record"),
                                .png = text_at(sample, "png"),
                                .label = text_at(sample, "label"),
                                .prediction = text_at(sample, "prediction"),
                                .loss = number_at(sample, "loss")});
    }
  }
}

void JsonLines::note(RunLog& run, const TextTree& event, const std::string& kind, double at, double seconds) {
  std::string text = text_at(event, "message");
  if (kind == "snapshot") text = text_at(event, "model");
  if (kind == "end") {
    run.ended = true;
    text = text_at(event, "reason");
  }
  if (kind == "error") run.begun = run.ended = true;
  // A training that fails in its set-up warns before it: behind the end of another one, that is another's.
  auto& events = kind == "warning" && run.ended ? so_far_.early : run.events;
  if (kind != "lms") events.push_back({kind, at, seconds, text});
}

}  // namespace robusta
