/// Text files in the form of protobuf messages.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <google/protobuf/text_format.h>

#include "robusta/error.h"

namespace robusta {

/// The whole text of `path`, a file or a pipe. Throws Error{kConfig} at the path: absent, a folder, unreadable, binary,
/// a pipe that brings nothing within `patience`.
std::string load_text(const std::string& path, std::chrono::seconds patience = std::chrono::seconds(10));

/// Parses `text` into `message` and `tree`. Throws Error{kConfig} (text_error.h); `name` stands for the file.
void parse_text(const std::string& text, const std::string& name, google::protobuf::Message* message,
                google::protobuf::TextFormat::ParseInfoTree* tree);

/// The same, leaving out fields and values of enums that the schema lacks. Returns an error for each of them, in their
/// order; none where the text is at fault otherwise.
std::vector<Error> parse_what_is_known(std::string text, const std::string& name, google::protobuf::Message* message,
                                       google::protobuf::TextFormat::ParseInfoTree* tree);

}  // namespace robusta
