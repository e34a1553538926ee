// Whether the prefix is a folder is asked of the file system once, when the solver is read.

#include "schema/snapshot_prefix.h"

#include <filesystem>

namespace robusta {

std::string complete_prefix(const std::string& prefix, const std::string& solver_file) {
  const std::filesystem::path file(solver_file);
  std::error_code ignored;
  if (prefix.empty()) return (file.parent_path() / file.stem()).string();
  if (!std::filesystem::is_directory(prefix, ignored)) return prefix;
  return (std::filesystem::path(prefix) / file.stem()).string();
}

}  // namespace robusta
