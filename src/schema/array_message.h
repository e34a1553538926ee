/// A protobuf message written piece by piece: of its arrays no more than one is in memory at a time.
///
/// Models and states are small messages around large arrays. What is written has the bytes that protobuf gives the
/// whole message: fields in the order of their numbers, which all its serializers keep, and of each array the tag, its
/// length and its numbers, little-endian (protobuf's documentation, "Encoding").
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <google/protobuf/message.h>

namespace robusta {

/// A BlobProto to be. Reads are called in the order of what is written, each once.
struct ArrayBlob {
  std::vector<int64_t> shape;
  std::function<std::vector<float>()> data, diff;  ///< of the shape's elements; null: none
};

class ArrayMessage {
 public:
  /// Appends the fields of `message` with numbers below, or above, this one.
  void add_below(const google::protobuf::Message& message, int field);
  void add_above(const google::protobuf::Message& message, int field);
  /// Appends a field of this number that is a BlobProto, or a message that was put together so.
  void add_blob(int field, ArrayBlob blob);
  void add_message(int field, ArrayMessage message);

  size_t bytes() const { return bytes_; }
  /// The file is whole or not at all (base/atomic_file.h). Throws Error{kOutput}, before anything is written where
  /// there are 2 GiB or more, and what the arrays' reads throw.
  void write(const std::string& path) const;

  /// Where the arrays lie in the file, in order, in bytes from its beginning; those of no elements are left out.
  std::vector<size_t> array_places() const;
  /// Gives the file its size and writes everything but the arrays, for whoever writes these. Throws Error{kOutput}.
  void write_frames(int fd) const;

 private:
  /// Bytes, and the array behind them.
  struct Piece {
    std::string bytes;
    size_t count = 0;  ///< elements
    std::function<std::vector<float>()> array;
  };

  void add(std::string bytes);
  void add_header(int field, size_t bytes);
  void add_array(int field, size_t count, std::function<std::vector<float>()> array);

  std::vector<Piece> pieces_;
  size_t bytes_ = 0;
};

}  // namespace robusta
