/// Binary protobuf files, opened with care: what users name may be absent, a folder, huge, or something else
/// altogether.
#pragma once

#include <cstdint>
#include <string>

#include "robusta/error.h"

namespace robusta {

/// The most bytes that a protobuf message can have: its readers count in 32-bit integers.
constexpr int64_t kLargestMessage = INT32_MAX;

/// An open regular file of at most kLargestMessage bytes.
class BinaryFile {
 public:
  /// Throws Error{kind} at the path; for an HDF5 file Error{kUnsupported}.
  BinaryFile(const std::string& path, ErrorKind kind);
  ~BinaryFile();
  BinaryFile(const BinaryFile&) = delete;
  BinaryFile& operator=(const BinaryFile&) = delete;

  int fd() const { return fd_; }
  int size() const { return size_; }

 private:
  void check(const std::string& path, ErrorKind kind);

  int fd_ = -1;
  int size_ = 0;
};

}  // namespace robusta
