// The optimal string alignment distance (Damerau 1964, Levenshtein 1966), by dynamic programming over three rows.

#include "base/nearest.h"

#include <algorithm>
#include <cctype>

namespace robusta {

int edit_distance(std::string_view a, std::string_view b) {
  const size_t n = b.size();
  auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  std::vector<int> before(n + 1), last(n + 1), row(n + 1);
  for (size_t j = 0; j <= n; ++j) last[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= n; ++j) {
      const int replace = last[j - 1] + (lower(a[i - 1]) != lower(b[j - 1]));
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replace});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[n];
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  // A third of the letters wrong is still a likely typing error; more is another word.
  int best = static_cast<int>(std::max<size_t>(1, word.size() / 3)) + 1;
  std::string found;
  for (const std::string& candidate : candidates) {
    const int distance = edit_distance(word, candidate);
    if (distance < best) best = distance, found = candidate;
  }
  return found;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string found = nearest(word, candidates);
  return found.empty() ? "" : " (did you mean \"" + found + "\"?)";
}

}  // namespace robusta
