/// Sizes of memory as people write them.
#pragma once

#include <cstddef>
#include <string>

namespace robusta {

/// "512 B", "1.5 MiB".
std::string bytes_text(double bytes);
inline std::string bytes_text(size_t bytes) { return bytes_text(static_cast<double>(bytes)); }

/// "16G", "800M", "4096K" or a number of bytes; 0: none of these.
size_t parse_bytes(const std::string& text);

}  // namespace robusta
