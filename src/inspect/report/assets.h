/// Style and script of the report's page: report.css, chart.js and report.js, which the build turns into text.
#pragma once

#include <string_view>

namespace robusta {

std::string_view report_style();
std::string_view report_script();

}  // namespace robusta
