/// One process's part in a job of many: joining, the watch over the other ranks, and an end that every rank learns of.
#pragma once

#include <functional>
#include <string>

#include "solver/ranks/ranks.h"

namespace robusta {

/// The words of -ddl, else of the environment's DDL_OPTIONS.
std::string ddl_text(const std::string& flag);

/// The options of training over ranks: those of -ddl, else of the environment's DDL_OPTIONS, else none.
DdlOptions ddl_options_of(const std::string& flag);

/// Joins the ranks that this process was started with, runs `body` and returns its exit code.
///
/// A process that is alone may have several `learners`: ranks in threads (learners.h).
/// Alone, errors pass through. Of several ranks, the one at fault prints its error and all return its code; an error
/// that the others do not know of (outside of Ranks::together) ends the process, and the job, by way of the watch.
int run_job(const std::string& ddl_flag, const std::function<int(Ranks&)>& body, int learners = 1);

}  // namespace robusta
