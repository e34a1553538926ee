// What is left out is always said.

#include "inspect/report/page_budget.h"

#include <utility>

#include "base/str.h"

namespace robusta {

std::string PageBudget::left_out() const {
  std::string text;
  const auto add = [&](bool is_so, const std::string& what) {
    if (is_so) text += (text.empty() ? "" : ", ") + what;
  };
  add(runs_left_out > 0, str(runs_left_out, " earlier runs"));
  add(curves_left_out > 0, str(curves_left_out, " further curves"));
  add(pictures.was_full(), "some pictures");
  add(events_left_out, "the earliest events");
  add(cells.was_full(), "some cells of the confusion matrix");
  add(texts.was_full(), "some texts");
  return text.empty() ? "" : "Left out, for the size of this page: " + text + ".";
}

std::string json_for_page(const std::string& json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

std::string cut(const std::string& text, size_t most) {
  return text.size() <= most ? text : text.substr(0, most) + " ...";
}

}  // namespace robusta
