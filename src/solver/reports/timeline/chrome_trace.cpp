// Chrome's trace event format ("Trace Event Format", Google): complete events ("X") with times in microseconds.
//
// A process ("pid") is a rank, a thread ("tid") of it 0 for the driver and 1 for the reductions; "M" events give names
// to them, "i" events have no length.
#include "solver/reports/timeline/chrome_trace.h"

#include <cstdio>

#include "base/str.h"
#include "solver/reports/json_log.h"

namespace robusta {
namespace {

struct Label {
  const char* category;
  std::string name;
};

std::string of_bucket(const char* before, const TraceEvent& event, const char* after = "") {
  return str(before, event.number + 1, after);  // as people count
}

Label label_of(const TraceEvent& event) {
  switch (event.kind) {
    case TraceKind::kIteration:
      return {"iteration", str("iteration ", event.number)};
    case TraceKind::kForward:
      return {"forward", event.name};
    case TraceKind::kBackward:
      return {"backward", event.name};
    case TraceKind::kPosted:
      return {"bucket", of_bucket("bucket ", event, " posted")};
    case TraceKind::kReducing:
      return {"reduce", of_bucket("bucket ", event)};
    case TraceKind::kUpdate:
      return {"update", *event.name ? str("update ", event.name) : of_bucket("update bucket ", event)};
    case TraceKind::kDataWait:
      return {"wait", "wait for data"};
    case TraceKind::kBucketWait:
      return {"wait", of_bucket("wait for bucket ", event)};
    case TraceKind::kTest:
      return {"test", str("test net ", event.number)};
    case TraceKind::kSnapshot:
      return {"snapshot", str("snapshot ", event.number)};
  }
  return {"", ""};
}

/// Exact: viewers drop events that overlap by as little as a rounding.
std::string microseconds(int64_t ns) {
  const auto size = static_cast<unsigned long long>(ns < 0 ? -ns : ns);
  char text[32];
  std::snprintf(text, sizeof text, "%s%llu.%03llu", ns < 0 ? "-" : "", size / 1000, size % 1000);
  return text;
}

std::string name_line(const char* what, int rank, int thread, const std::string& name) {
  return JsonObject()
      .add("ph", "M")
      .add("name", what)
      .add("pid", rank)
      .add("tid", thread)
      .add("args", JsonObject().add("name", name))
      .text();
}

}  // namespace

std::string trace_names(int rank, const std::string& host) {
  const std::string order = JsonObject()
                                .add("ph", "M")
                                .add("name", "process_sort_index")
                                .add("pid", rank)
                                .add("args", JsonObject().add("sort_index", rank))
                                .text();
  return name_line("process_name", rank, 0, str("rank ", rank, " on ", host)) + ",\n" + order + ",\n" +
         name_line("thread_name", rank, 0, "driver") + ",\n" + name_line("thread_name", rank, 1, "reduction");
}

std::string trace_line(const TraceEvent& event, int rank, int thread, const ClockLine& clock, int64_t origin) {
  const Label label = label_of(event);
  const bool instant = event.kind == TraceKind::kPosted;
  JsonObject object;
  object.add("ph", instant ? "i" : "X").add("name", label.name).add("cat", label.category).add("pid", rank);
  std::string line = object.add("tid", thread).text();
  line.back() = ',';
  const int64_t begin = clock.to_root(event.begin);
  line += " \"ts\": " + microseconds(begin - origin);
  line += instant ? std::string(", \"s\": \"t\"") : ", \"dur\": " + microseconds(clock.to_root(event.end) - begin);
  return ",\n" + line + "}";
}

}  // namespace robusta
