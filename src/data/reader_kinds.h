/// The kinds of databases that readers are built in for.
///
/// A reader registers itself in its own file; nothing else knows it by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/reader.h"

namespace robusta {

struct ReaderKind {
  std::string backend;  ///< as `data_param.backend` has it: "LMDB"
  std::string called;   ///< in messages: "an LMDB"
  /// Whether what lies at this path is of this kind, readable or not.
  bool (*recognises)(const std::string& source);
  /// Throws Error{kData}.
  std::shared_ptr<const RecordReader> (*open)(const std::string& source);
};

/// True, for initialising a static.
bool register_reader(ReaderKind kind);
/// In the order of their backends' names.
const std::vector<ReaderKind>& reader_kinds();

}  // namespace robusta
