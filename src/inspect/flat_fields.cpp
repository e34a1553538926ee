// Walks messages by reflection; how deep they go is limited by the schema and by protobuf's parser.

#include "inspect/flat_fields.h"

#include <google/protobuf/text_format.h>

#include "schema/reflect.h"

namespace robusta {
namespace {

using google::protobuf::Message;

void flatten_message(const Message& message, const std::string& prefix, const std::set<std::string>& except,
                     FlatFields& flat);

void flatten_value(const Message& message, const FieldDescriptor* field, int index, const std::string& path,
                   FlatFields& flat) {
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    const auto* reflection = message.GetReflection();
    const Message& inner = field->is_repeated() ? reflection->GetRepeatedMessage(message, field, index)
                                                : reflection->GetMessage(message, field);
    return flatten_message(inner, path + ".", {}, flat);
  }
  std::string text;
  google::protobuf::TextFormat::PrintFieldValueToString(message, field, field->is_repeated() ? index : -1, &text);
  flat[path] = text;
}

void flatten_message(const Message& message, const std::string& prefix, const std::set<std::string>& except,
                     FlatFields& flat) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (except.contains(field->name()) || says_default(message, field)) continue;
    const std::string path = prefix + field->name();
    if (!field->is_repeated()) {
      flatten_value(message, field, -1, path, flat);
      continue;
    }
    const int count = message.GetReflection()->FieldSize(message, field);
    for (int i = 0; i < count; ++i) flatten_value(message, field, i, path + "[" + std::to_string(i) + "]", flat);
  }
}

}  // namespace

FlatFields flat_fields(const Message& message, const std::set<std::string>& except) {
  FlatFields flat;
  flatten_message(message, "", except, flat);
  return flat;
}

std::vector<std::string> changed_fields(const FlatFields& before, const FlatFields& after) {
  FlatFields all = before;
  all.insert(after.begin(), after.end());
  std::vector<std::string> changed;
  for (const auto& [path, value] : all) {
    const auto old_one = before.find(path), new_one = after.find(path);
    const std::string was = old_one == before.end() ? "absent" : old_one->second;
    const std::string is = new_one == after.end() ? "absent" : new_one->second;
    if (was != is) changed.push_back(path + ": " + was + " -> " + is);
  }
  return changed;
}

}  // namespace robusta
