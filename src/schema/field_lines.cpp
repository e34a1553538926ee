// One walk over the message and the parse tree together.

#include "schema/field_lines.h"

#include <vector>

namespace robusta {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using ParseInfoTree = google::protobuf::TextFormat::ParseInfoTree;

namespace {

void collect_field(const Message& message, const ParseInfoTree& tree, const FieldDescriptor* field, int index,
                   const std::string& path, FieldLines* lines) {
  const bool repeated = field->is_repeated();
  const int at = repeated ? index : -1;
  const auto location = tree.GetLocation(field, at);
  const std::string name = repeated ? path + "[" + std::to_string(index) + "]" : path;
  if (location.line >= 0) lines->insert_or_assign(name, location.line + 1);
  if (repeated && index == 0 && location.line >= 0) lines->insert_or_assign(path, location.line + 1);
  if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) return;
  const auto* reflection = message.GetReflection();
  const Message& inner =
      repeated ? reflection->GetRepeatedMessage(message, field, index) : reflection->GetMessage(message, field);
  if (const ParseInfoTree* nested = tree.GetTreeForNested(field, at)) collect_lines(inner, *nested, name + ".", lines);
}

}  // namespace

void collect_lines(const Message& message, const ParseInfoTree& tree, const std::string& prefix, FieldLines* lines,
                   const std::string& except) {
  const auto* reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->name() == except) continue;
    const int count = field->is_repeated() ? reflection->FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) collect_field(message, tree, field, i, prefix + field->name(), lines);
  }
}

}  // namespace robusta
