/// The small forms of LevelDB's files, read and written: numbers of variable length, checksums, compressed blocks. What
/// is read is not trusted: nothing beyond its end is looked at.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace robusta {

/// Takes numbers and pieces from the front of some bytes. Once something was missing all is empty and bad().
class LevelBytes {
 public:
  explicit LevelBytes(std::string_view bytes) : rest_(bytes) {}

  bool bad() const { return bad_; }
  bool empty() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }

  /// Seven bits per byte, the lowest first; the last byte has no highest bit.
  uint64_t varint();
  /// Little-endian.
  template <typename T>
  T fixed() {
    T value{};
    const std::string_view bytes = piece(sizeof value);
    if (!bad_) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::string_view piece(uint64_t size);
  /// A size, and so many bytes.
  std::string_view counted() { return piece(varint()); }

 private:
  void fail();

  std::string_view rest_;
  bool bad_ = false;
};

/// Appends what LevelBytes::varint takes.
void put_varint(std::string& out, uint64_t value);
/// Appends what LevelBytes::fixed takes.
template <typename T>
void put_fixed(std::string& out, T value) {
  const size_t at = out.size();
  out.resize(at + sizeof value);
  std::memcpy(out.data() + at, &value, sizeof value);
}
/// Appends what LevelBytes::counted takes.
void put_counted(std::string& out, std::string_view bytes);

/// Unpacks a block of Snappy's. False: the bytes are none.
bool unpack_snappy(std::string_view packed, std::string& out);

}  // namespace robusta
