/// Caches of choices: files that programs write for themselves, small ones, and that may be gone or damaged at any
/// time.
#pragma once

#include <string>

namespace robusta {

/// The whole text; "" where there is no regular file of at most 64 MiB. Never waits, as a pipe would make it, and never
/// throws.
std::string read_cache_file(const std::string& path);

}  // namespace robusta
