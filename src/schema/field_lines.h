/// Lines of all fields of a parsed message, from protobuf's parse tree.
#pragma once

#include <string>

#include <google/protobuf/text_format.h>

#include "schema/source.h"

namespace robusta {

/// Adds every field under `message` to `lines`, its path beginning with `prefix`. Fields named `except` at the top are
/// left out.
void collect_lines(const google::protobuf::Message& message, const google::protobuf::TextFormat::ParseInfoTree& tree,
                   const std::string& prefix, FieldLines* lines, const std::string& except = "");

}  // namespace robusta
