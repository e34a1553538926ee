/// Messages as text.
#pragma once

#include <string>

#include <google/protobuf/message.h>

namespace robusta {

/// The text form (prototxt), fields in the order of their numbers, floats in the shortest form that reads back.
std::string text_form(const google::protobuf::Message& message);

/// Writes the text form in one piece. Throws Error{kOutput}.
void write_text_proto(const std::string& path, const google::protobuf::Message& message);

}  // namespace robusta
