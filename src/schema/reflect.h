/// Single fields by their descriptors: copied between messages of different types, for tables that say where an old
/// field went, and compared with their defaults.
#pragma once

#include <string>

#include <google/protobuf/message.h>

namespace robusta {

using google::protobuf::FieldDescriptor;

/// Whether the field is set or has elements.
bool has_field(const google::protobuf::Message& message, const FieldDescriptor* field);

/// Whether a field that is set says the same as its absence.
bool says_default(const google::protobuf::Message& message, const FieldDescriptor* field);

/// Copies the value of `from` to field `to` of `target`: sets it, or appends when `to` is repeated. Enums go by number.
/// REQUIRES: the same C++ type, or int32 and then uint32, and the same message type for messages.
void copy_field(const google::protobuf::Message& source, const FieldDescriptor* from, google::protobuf::Message* target,
                const FieldDescriptor* to);

/// The message that owns the last name of the dotted `path` below `root`, made on the way, and that field.
struct FieldRef {
  google::protobuf::Message* message;
  const FieldDescriptor* field;
};
FieldRef mutable_field(google::protobuf::Message* root, const std::string& path);

}  // namespace robusta
