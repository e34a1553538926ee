/// Walks over the fields of a protobuf message in a file without building it.
///
/// A field is taken by number and wire type or skipped. Every length is compared with what is left of the message
/// around it before memory is taken, so a hostile file costs at most its own size. One thread; the file outlives it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include "schema/binary_file.h"

namespace robusta {

/// How a field is stored.
enum Wire : int { kVarint = 0, kFixed64 = 1, kBytes = 2, kGroup = 3, kFixed32 = 5 };

class WireReader {
 public:
  /// Takes the field when it returns true; otherwise the field is skipped, and nothing may have been read.
  using OnField = std::function<bool(int number, int wire)>;

  explicit WireReader(const BinaryFile& file);

  /// All fields up to the end of the current message: the whole file, or the one that `message` has entered.
  /// Throws Error{kModel} when the bytes are cut or no protobuf; it says where, the caller adds the file.
  void fields(const OnField& on_field);

  /// REQUIRES: called for a kBytes field that is being taken, as are the following for theirs.
  void message(const OnField& on_field);
  std::string text();
  uint64_t varint();
  /// Appends a packed (kBytes) or single element.
  void append_varints(int wire, std::vector<int64_t>* values);
  void append_floats(int wire, std::vector<float>* values);
  void append_doubles(int wire, std::vector<float>* values);

 private:
  void skip(uint32_t tag);
  int length();
  [[noreturn]] void damaged() const;

  google::protobuf::io::FileInputStream stream_;
  google::protobuf::io::CodedInputStream coded_;
  int size_;
};

}  // namespace robusta
