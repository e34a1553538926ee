// A file of several phases has one field, params_pair, and so begins with it.

#include "schema/has_phases.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace robusta {
namespace {

/// Without blanks and comments at its beginning.
std::string_view beginning_of(std::string_view text) {
  for (;;) {
    const auto first = std::find_if(text.begin(), text.end(), [](unsigned char c) { return std::isspace(c) == 0; });
    text.remove_prefix(static_cast<size_t>(first - text.begin()));
    if (!text.starts_with('#')) return text;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
}

}  // namespace

bool has_phases(const std::string& text) { return beginning_of(text).starts_with("params_pair"); }

}  // namespace robusta
