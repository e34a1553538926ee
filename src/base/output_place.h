/// Where an output goes: what stands at a path decides whether a file may take its place.
///
/// A regular file, or nothing, may be replaced by renaming another one over it. Everything else - a device, a pipe, a
/// socket, an open descriptor such as /dev/stdout - is written through and never renamed over: as root that would take
/// /dev/null from the whole machine.
#pragma once

#include <string>

namespace robusta {

/// The kinds of place; a folder or a disk is none.
struct OutputPlace {
  std::string path;  ///< with the links of its last component followed: temporaries go beside it
  bool is_file;      ///< a regular file, or nothing yet: may be replaced
};

/// Follows symbolic links as open(2) does, also to a file that is not there yet. Throws Error{kOutput}, beginning with
/// `what` ("cannot write"), for folders, disks, and links that another user left in a folder that everybody may write
/// to (as the kernel does where fs.protected_symlinks is set).
OutputPlace find_output(const std::string& what, const std::string& path);

/// Opens for writing what is not a regular file; descriptors of this process are duplicated and keep their position.
/// Waits for nobody: a pipe that has no reader is an error. Throws Error{kOutput}; the caller closes.
int open_through(const std::string& path);

/// The same for a regular file, too: opened for appending, and made if it is not there.
int open_for_appending(const std::string& what, const std::string& path);

/// Throws Error{kOutput}: `what` `path`: the text of the errno `code`, and a way out.
[[noreturn]] void fail_output(const std::string& what, const std::string& path, int code);

/// The folder that `path` lies in; "." for a bare name.
std::string folder_of(const std::string& path);

}  // namespace robusta
