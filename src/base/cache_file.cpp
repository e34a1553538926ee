// A cache that cannot be read is an empty one.

#include "base/cache_file.h"

#include <filesystem>

#include "base/input_file.h"

namespace robusta {

std::string read_cache_file(const std::string& path) {
  constexpr uintmax_t kLargest = uintmax_t{64} << 20;
  std::error_code absent;
  const uintmax_t bytes = std::filesystem::file_size(path, absent);
  if (absent || bytes > kLargest) return "";
  try {
    return read_input_file(path, ErrorKind::kUsage);
  } catch (const Error&) {
    return "";
  }
}

}  // namespace robusta
