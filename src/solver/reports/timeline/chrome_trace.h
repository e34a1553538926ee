/// Events as text in Chrome's trace event format, which chrome://tracing and Perfetto show. A rank is a process there.
#pragma once

#include <string>

#include "solver/reports/timeline/host_clocks.h"
#include "solver/trace/trace_ring.h"

namespace robusta {

inline constexpr const char* kTraceHead = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n";
inline constexpr const char* kTraceTail = "\n]}\n";

/// The names of a rank and of its threads. Lines of an array, with a comma behind each but the last.
std::string trace_names(int rank, const std::string& host);

/// One event, with a comma and a new line before it. `origin`: the time of rank 0 that is shown as 0.
std::string trace_line(const TraceEvent& event, int rank, int thread, const ClockLine& clock, int64_t origin);

}  // namespace robusta
