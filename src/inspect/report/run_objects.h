/// Runs and their events as the JSON that a report's page draws.
#pragma once

#include <string>
#include <vector>

#include "inspect/report/page_budget.h"
#include "inspect/runs/run_log.h"

namespace robusta {

/// The JSON array of `runs`, for the page, within the budget.
std::string runs_for_page(const std::vector<const RunLog*>& runs, PageBudget& budget);

/// The JSON array of their events, with the number of its run in each; of each run the latest ones where there are too
/// many.
std::string events_for_page(const std::vector<const RunLog*>& runs, PageBudget& budget);

/// The latest runs that there is room for.
std::vector<const RunLog*> runs_with_room(const std::vector<RunLog>& runs, PageBudget& budget);

}  // namespace robusta
