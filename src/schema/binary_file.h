/// Binary protobuf files, opened with care: what users name may be absent, a folder, huge, or something else
/// altogether.
#pragma once

#include <cstdint>
#include <string>

#include "base/input_file.h"
#include "robusta/error.h"

namespace robusta {

/// The most bytes that a protobuf message can have: its readers count in 32-bit integers.
constexpr int64_t kLargestMessage = INT32_MAX;

/// Throws Error{kOutput} at the path where a message to be written has more.
void require_message(size_t bytes, const std::string& path);

/// An open regular file of at most kLargestMessage bytes.
class BinaryFile {
 public:
  /// Throws Error{kind} at the path; for an HDF5 file Error{kUnsupported}.
  BinaryFile(const std::string& path, ErrorKind kind);

  int fd() const { return file_.descriptor.get(); }
  int size() const { return static_cast<int>(file_.info.st_size); }

 private:
  void check(const std::string& path, ErrorKind kind) const;

  InputFile file_;
};

}  // namespace robusta
