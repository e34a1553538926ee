/// The kinds of databases that writers are built in for.
///
/// A writer registers itself in its own file; nothing else knows it by name.
#pragma once

#include <memory>
#include <string>

#include "data/record_writer.h"

namespace robusta {

struct WriterKind {
  std::string backend;  ///< as the command line has it: "lmdb"
  /// Throws Error{kOutput} when something is at `folder` already, or it cannot be made.
  std::unique_ptr<RecordWriter> (*make)(const std::string& folder);
};

/// True, for initialising a static.
bool register_writer(WriterKind kind);

/// Throws Error{kUsage} for a backend that is none; for programs, before they begin what takes long.
void require_writer(const std::string& backend);

/// A new database at `folder`. Throws as WriterKind::make, and Error{kUsage} for a backend that is none.
std::unique_ptr<RecordWriter> make_writer(const std::string& backend, const std::string& folder);

}  // namespace robusta
