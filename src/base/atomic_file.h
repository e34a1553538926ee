/// Files that are either whole or absent: written beside their place, synced, renamed.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace robusta {

/// Writes `path` by temporary file, fsync of file and folder, rename. `write(fd)` fills the file and throws on failure.
/// Throws Error{kOutput} naming the path and the system's reason; then the old file, if any, is untouched and no
/// temporary is left.
void write_file_atomically(const std::string& path, const std::function<void(int fd)>& write);

/// Removes the temporaries that writers of files in `folder` left when they died, where `is_ours` accepts the file's
/// own name. A writer locks its temporary: one that is locked, or was written to within the last minute, stays, and so
/// do all where the file system has no locks. Returns the names of those removed; throws nothing.
std::vector<std::string> remove_abandoned(const std::string& folder,
                                          const std::function<bool(const std::string& name)>& is_ours);

/// write(2) until all is written. Throws Error{kOutput}.
void write_all(int fd, const void* data, size_t bytes);

/// Throws Error{kOutput} unless files whose names begin with `prefix` can be created; leaves nothing behind. `what`
/// they are, for the message: "snapshots with prefix".
void require_writable_prefix(const std::string& what, const std::string& prefix);

/// The same for one file that write_file_atomically() is to write later. `what` it is: "the timeline".
void require_writable_file(const std::string& what, const std::string& path);

}  // namespace robusta
