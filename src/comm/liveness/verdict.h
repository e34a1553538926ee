/// Verdicts: which of two counts, and what is printed.
#pragma once

#include <string>

#include "comm/liveness/messages.h"
#include "comm/liveness/roster.h"

namespace robusta::liveness {

/// Whether `a` is nearer to the cause than `b`. An error that a rank named comes first, unless it is one of
/// communication, which others' deaths cause; then what processes were seen to do; then the lower rank. A strict order
/// up to the rank and the fault, so that all ranks agree on the same verdict in whatever order they hear of several.
bool is_better(const Verdict& a, const Verdict& b);

/// `rank 5 on node3 (pid 4711) has died`, for logs and the exit file.
std::string one_line(const Verdict& verdict, const Roster& roster);

/// The whole block: who, where, what it was doing, since when, what to do.
std::string report(const Verdict& verdict, const Roster& roster);

/// For a rank that `mine` says has lost its way to rank 0.
std::string short_line(const Verdict& verdict, const Roster& roster, RankId mine);

}  // namespace robusta::liveness
