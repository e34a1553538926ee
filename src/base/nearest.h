/// "Did you mean": the known name closest to a misspelled one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace robusta {

/// Number of insertions, deletions, replacements and swaps of neighbours between two words, letter case ignored
/// (optimal string alignment distance).
int edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to `word`, or "" when none is near enough to be a likely misspelling.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

/// ` (did you mean "x"?)`, or "" when nothing is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace robusta
