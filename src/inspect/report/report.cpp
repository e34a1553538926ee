// Text of the logs goes into the page as JSON in which no "<" stands, and the script sets it as text: nothing in a log
// becomes a part of the page.

#include "inspect/report/report.h"

#include "base/version.h"
#include "inspect/report/assets.h"
#include "inspect/report/page_budget.h"
#include "inspect/report/run_objects.h"
#include "solver/reports/json_log.h"

namespace robusta {
namespace {

std::string data_of(const std::vector<RunLog>& all, PageBudget budget) {
  const std::vector<const RunLog*> runs = runs_with_room(all, budget);
  const std::string objects = runs_for_page(runs, budget), events = events_for_page(runs, budget);
  JsonObject data;
  data.add("version", kVersion).add_raw("runs", objects).add_raw("events", events);
  return data.add("left_out", budget.left_out()).text();
}

std::string page_with(const std::string& data) {
  // An icon of its own keeps browsers from asking a server for one.
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Training report</title>\n"
      "<link rel=\"icon\" href=\"data:,\">\n<style>\n";
  page += report_style();
  page += "</style>\n</head>\n<body>\n<h1>Training report</h1>\n<div id=\"page\"></div>\n";
  page += "<script type=\"application/json\" id=\"data\">" + data + "</script>\n<script>\n";
  page += report_script();
  page += "</script>\n</body>\n</html>\n";
  return page;
}

}  // namespace

std::string report_page(const std::vector<RunLog>& runs) {
  std::string page = page_with(data_of(runs, PageBudget(1)));
  for (double part = 0.5; page.size() > kMostReport && part > 1e-3; part /= 2) {
    page = page_with(data_of(runs, PageBudget(part)));
  }
  return page;
}

}  // namespace robusta
