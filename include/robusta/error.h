/// Errors that a user can cause.
///
/// Everything a user types or feeds in may fail only through `Error`: the place that notices throws it with the cause
/// and the fix, every level above may add what it knows (layer, file and line), and a program prints one block and
/// exits with the code of the kind. Broken invariants of our own are asserted instead.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "robusta/export.h"

namespace robusta {

/// The kinds of failure; the number is the exit code of the programs (docs/errors.md).
enum class ErrorKind {
  kUsage = 1,          ///< the command line
  kConfig = 2,         ///< a prototxt: syntax, names, values, shapes, wiring of the net
  kData = 3,           ///< a data source: absent, truncated, hostile or of the wrong shape
  kModel = 4,          ///< a weights or state file: absent, truncated or of another net
  kMemory = 5,         ///< more memory than there is
  kNumeric = 6,        ///< the loss is not finite
  kOutput = 7,         ///< something could not be written: no permission, disk full
  kCommunication = 8,  ///< between ranks
  kUnsupported = 9,    ///< known, but not in this build
  kDevice = 10,        ///< a GPU: its driver, its hardware, or what it was told to do
  kInternal = 70,      ///< a defect of the program itself
};

class ROBUSTA_API Error : public std::exception {
 public:
  /// `cause` says what is wrong, `fix` (may be empty) what to do about it.
  Error(ErrorKind kind, std::string cause, std::string fix = "");

  ErrorKind kind() const { return kind_; }
  int exit_code() const { return static_cast<int>(kind_); }
  const std::string& cause() const { return cause_; }
  const std::string& fix() const { return fix_; }
  const std::string& layer() const { return layer_; }
  const std::string& location() const { return location_; }
  /// Path of the prototxt field at fault inside the layer ("convolution_param.kernel_size"), empty when none.
  const std::string& field() const { return field_; }

  /// Each of these keeps what an inner level has already said.
  Error& in_field(std::string_view field);
  Error& in_layer(std::string_view layer);
  /// `location` is "file:line" or "file".
  Error& at(std::string_view location);

  /// `file:line: layer "x": cause; fix`
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  void compose();

  ErrorKind kind_;
  std::string cause_, fix_, field_, layer_, location_, text_;
};

}  // namespace robusta
