// The register is filled while statics are initialised, in whatever order the linker has put them.

#include "data/reader_kinds.h"

#include <algorithm>

namespace robusta {
namespace {

std::vector<ReaderKind>& kinds() {
  static std::vector<ReaderKind> all;
  return all;
}

}  // namespace

bool register_reader(ReaderKind kind) {
  kinds().push_back(std::move(kind));
  std::ranges::sort(kinds(), {}, &ReaderKind::backend);
  return true;
}

const std::vector<ReaderKind>& reader_kinds() { return kinds(); }

}  // namespace robusta
