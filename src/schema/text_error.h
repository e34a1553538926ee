/// Errors of protobuf's text parser in our words: place, surrounding message, nearest known name.
#pragma once

#include <string>

#include <google/protobuf/message.h>

#include "robusta/error.h"

namespace robusta {

/// `partial` is what was parsed before the error; `line` (from 0), `column` and `said` are what protobuf reported about
/// `text`. The result is Error{kConfig} at "name:line", inside the layer if it is in one.
Error explain_parse_error(const google::protobuf::Message& partial, const std::string& text, const std::string& name,
                          int line, int column, const std::string& said);

/// Whether the parser complains of a name that the schema lacks, a field's or a value's, and of nothing else.
bool is_unread(const std::string& said);

/// Makes spaces of a field with a value that its enum does not have, of which protobuf has `said` so there. Returns
/// false where it is none with a single value.
bool blank_unread_value(std::string& text, int line, int column, const std::string& said);

}  // namespace robusta
