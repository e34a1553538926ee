/// Caches of choices: files that programs write for themselves, small ones, and that may be gone or damaged at any
/// time.
#pragma once

#include <functional>
#include <string>

namespace robusta {

/// The whole text; "" where there is no regular file of at most 64 MiB. Never waits, as a pipe would make it, and never
/// throws.
std::string read_cache_file(const std::string& path);

/// Makes the file what `merged` makes of its text, and its folder where that is missing. Those who do so at the same
/// time, in other processes too, come one after another, so that none loses what another has added; who has to wait
/// longer than a second goes ahead all the same. Throws Error{kOutput}, or std::filesystem::filesystem_error, where
/// nothing can be written.
void update_cache_file(const std::string& path, const std::function<std::string(const std::string& text)>& merged);

}  // namespace robusta
