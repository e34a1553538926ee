// The register is filled while statics are initialised, in whatever order the linker has put them.

#include "data/writer_kinds.h"

#include <algorithm>
#include <vector>

#include "base/nearest.h"
#include "robusta/error.h"

namespace robusta {
namespace {

std::vector<WriterKind>& registered_writers() {
  static std::vector<WriterKind> all;
  return all;
}

const WriterKind& writer_kind(const std::string& backend) {
  const std::vector<WriterKind>& kinds = registered_writers();
  const auto found = std::ranges::find(kinds, backend, &WriterKind::backend);
  if (found != kinds.end()) return *found;
  std::vector<std::string> names;
  std::string say;
  for (const WriterKind& kind : kinds) {
    names.push_back(kind.backend);
    say += (say.empty() ? "say " : " or ") + kind.backend;
  }
  throw Error(ErrorKind::kUsage, "unknown database backend \"" + backend + "\"" + did_you_mean(backend, names), say);
}

}  // namespace

bool register_writer(WriterKind kind) {
  registered_writers().push_back(std::move(kind));
  std::ranges::sort(registered_writers(), std::ranges::greater(), &WriterKind::backend);
  return true;
}

void require_writer(const std::string& backend) { writer_kind(backend); }

std::unique_ptr<RecordWriter> make_writer(const std::string& backend, const std::string& folder) {
  return writer_kind(backend).make(folder);
}

}  // namespace robusta
