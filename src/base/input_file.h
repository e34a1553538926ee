/// Regular files, opened for reading. What a user names may be a folder, a FIFO that nobody writes, or a device without
/// an end: opening never waits for one of these, and nothing is read from them.
#pragma once

#include <sys/stat.h>

#include <string>

#include "base/descriptor.h"
#include "robusta/error.h"

namespace robusta {

struct InputFile {
  Descriptor descriptor;
  struct stat info = {};  ///< as it was opened
};

/// Throws Error{kind} at the path where there is no regular file that may be read.
InputFile open_input_file(const std::string& path, ErrorKind kind);

/// All bytes of it. Throws Error{kind} where they are more than 2 GiB: a file without content may have any length.
std::string read_input_file(const std::string& path, ErrorKind kind);

}  // namespace robusta
