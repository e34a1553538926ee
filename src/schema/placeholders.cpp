// Both placeholders are replaced wherever they stand.

#include "schema/placeholders.h"

namespace robusta {
namespace {

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
}

}  // namespace

std::string with_rank(std::string name, int rank, int ranks) {
  replace_all(name, "%#", std::to_string(rank));
  replace_all(name, "%*", std::to_string(ranks));
  return name;
}

}  // namespace robusta
