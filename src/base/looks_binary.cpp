// How a file begins tells texts from all else.

#include "base/looks_binary.h"

#include <unistd.h>

#include <cstring>

#include "base/input_file.h"

namespace robusta {

/// Texts have no zero bytes, and messages that protobuf writes are rarely without control characters.
bool looks_binary(const std::string& path, ErrorKind kind) {
  const InputFile file = open_input_file(path, kind);
  char begin[512];
  const ssize_t count = ::pread(file.descriptor.get(), begin, sizeof begin, 0);
  for (ssize_t i = 0; i < count; ++i) {
    const auto c = static_cast<unsigned char>(begin[i]);
    if (c == 0 || (c < ' ' && !std::strchr("\t\n\r\f\v", c))) return true;
  }
  return false;
}

}  // namespace robusta
