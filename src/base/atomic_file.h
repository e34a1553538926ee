/// Files that are either whole or absent: written beside their place, synced, renamed.
#pragma once

#include <functional>
#include <string>

namespace robusta {

/// Writes `path` by temporary file, fsync of file and folder, rename; a symbolic link stays, and the file that it names
/// is replaced. What is neither a regular file nor absent (a device, a pipe, /dev/stdout) is written through.
/// `write(fd)` fills the file from front to back and throws on failure. Throws Error{kOutput} naming the path and the
/// system's reason; then the old file, if any, is untouched and no temporary is left.
void write_file_atomically(const std::string& path, const std::function<void(int fd)>& write);

/// write(2) until all is written. Throws Error{kOutput}.
void write_all(int fd, const void* data, size_t bytes);

/// The same at a place of a file, in bytes from its beginning.
void write_all_at(int fd, const void* data, size_t bytes, size_t place);

/// Throws Error{kOutput} unless files whose names begin with `prefix` can be created; leaves nothing behind. `what`
/// they are, for the message: "snapshots with prefix".
void require_writable_prefix(const std::string& what, const std::string& prefix);

/// The same for one file that write_file_atomically() is to write later. `what` it is: "the timeline".
void require_writable_file(const std::string& what, const std::string& path);

}  // namespace robusta
