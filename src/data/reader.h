/// A source of records that can be asked for by number.
///
/// Immutable as seen from outside; every function may be called from many threads at once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace robusta {

class RecordReader {
 public:
  virtual ~RecordReader() = default;
  /// Path as the user gave it.
  virtual const std::string& source() const = 0;
  /// Number of records, at least 1.
  virtual int64_t size() const = 0;
  /// The bytes of record `index`, in key order. Valid while both the reader and `storage` live and `storage` is not
  /// used again: a reader that has the record in memory already leaves `storage` alone. Throws Error{kData}.
  /// REQUIRES: 0 <= index < size().
  virtual std::string_view record(int64_t index, std::string& storage) const = 0;
  /// The key of record `index`. Throws Error{kData}.
  virtual std::string key(int64_t index) const = 0;
};

/// "00000012_cat.jpg in train_lmdb", for messages.
std::string record_name(const RecordReader& reader, int64_t index);

}  // namespace robusta
