/// What writes a new database of records, of whatever kind (writer_kinds.h).
///
/// A database appears under its name only when `finish` has succeeded: a writer that is destroyed before, or a process
/// that is killed, leaves nothing there. Used by one thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace robusta {

class RecordWriter {
 public:
  RecordWriter() = default;
  virtual ~RecordWriter() = default;
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;

  /// Adds a record. Throws Error{kOutput}: disk full, the key that was added before this one once more.
  virtual void put(std::string_view key, std::string_view value) = 0;
  /// Syncs all to disk and gives the database its name; called once, last. Throws Error{kOutput}.
  virtual void finish() = 0;
  /// How many records have been added.
  virtual int64_t size() const = 0;
};

}  // namespace robusta
