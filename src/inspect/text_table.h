/// Rows of words for people: each column is as wide as its widest word.
#pragma once

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "base/excerpt.h"

namespace robusta {

class TextTable {
 public:
  /// Words come from files: what a terminal would obey is replaced, and long ones end in dots.
  void add(const std::vector<std::string>& words) {
    rows_.emplace_back();
    for (const std::string& word : words) rows_.back().push_back(excerpt(word));
  }
  bool empty() const { return rows_.empty(); }

  void print(std::ostream& out, const std::string& indent = "") const {
    std::vector<size_t> widths;
    for (const auto& row : rows_) {
      widths.resize(std::max(widths.size(), row.size()));
      for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    for (const auto& row : rows_) {
      std::string line = indent;
      for (size_t i = 0; i < row.size(); ++i) line += row[i] + std::string(widths[i] - row[i].size() + 2, ' ');
      out << line.substr(0, line.find_last_not_of(' ') + 1) << '\n';
    }
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace robusta
