// By protobuf's reflection, so that tables of moved fields are data and need no generated code of either message.

#include "schema/reflect.h"

#include <cassert>

namespace robusta {

using google::protobuf::Message;
using google::protobuf::Reflection;

namespace {

/// Element `index` of a repeated field, or the value of a single one.
template <typename Single, typename Repeated>
auto value_of(const Message& message, const FieldDescriptor* field, int index, Single single, Repeated repeated)
    -> decltype((message.GetReflection()->*single)(message, field)) {
  const Reflection* reflection = message.GetReflection();
  return field->is_repeated() ? (reflection->*repeated)(message, field, index) : (reflection->*single)(message, field);
}

template <typename Value, typename Set, typename Add>
void put(Message* message, const FieldDescriptor* field, const Value& value, Set set, Add add) {
  const Reflection* reflection = message->GetReflection();
  field->is_repeated() ? (reflection->*add)(message, field, value) : (reflection->*set)(message, field, value);
}

void copy_message(const Message& source, const FieldDescriptor* from, int index, Message* target,
                  const FieldDescriptor* to) {
  const Message& value = from->is_repeated() ? source.GetReflection()->GetRepeatedMessage(source, from, index)
                                             : source.GetReflection()->GetMessage(source, from);
  Message* made = to->is_repeated() ? target->GetReflection()->AddMessage(target, to)
                                    : target->GetReflection()->MutableMessage(target, to);
  made->CopyFrom(value);
}

/// V0 has sizes with a sign that are without one later. What is negative becomes larger than any size.
bool loses_its_sign(const FieldDescriptor* from, const FieldDescriptor* to) {
  return from->cpp_type() == FieldDescriptor::CPPTYPE_INT32 && to->cpp_type() == FieldDescriptor::CPPTYPE_UINT32;
}

void copy_element(const Message& source, const FieldDescriptor* from, int index, Message* target,
                  const FieldDescriptor* to) {
  using R = Reflection;
  if (loses_its_sign(from, to)) {
    const int32_t value = value_of(source, from, index, &R::GetInt32, &R::GetRepeatedInt32);
    return put(target, to, static_cast<uint32_t>(value), &R::SetUInt32, &R::AddUInt32);
  }
  switch (from->cpp_type()) {
#define ROBUSTA_COPY(KIND, Name)                                                                        \
  case FieldDescriptor::CPPTYPE_##KIND:                                                                 \
    put(target, to, value_of(source, from, index, &R::Get##Name, &R::GetRepeated##Name), &R::Set##Name, \
        &R::Add##Name);                                                                                 \
    return
    ROBUSTA_COPY(INT32, Int32);
    ROBUSTA_COPY(INT64, Int64);
    ROBUSTA_COPY(UINT32, UInt32);
    ROBUSTA_COPY(UINT64, UInt64);
    ROBUSTA_COPY(FLOAT, Float);
    ROBUSTA_COPY(DOUBLE, Double);
    ROBUSTA_COPY(BOOL, Bool);
    ROBUSTA_COPY(STRING, String);
#undef ROBUSTA_COPY
    case FieldDescriptor::CPPTYPE_ENUM:
      put(target, to, value_of(source, from, index, &R::GetEnumValue, &R::GetRepeatedEnumValue), &R::SetEnumValue,
          &R::AddEnumValue);
      return;
    case FieldDescriptor::CPPTYPE_MESSAGE:
      copy_message(source, from, index, target, to);
      return;
  }
}

}  // namespace

bool has_field(const Message& message, const FieldDescriptor* field) {
  const Reflection* reflection = message.GetReflection();
  return field->is_repeated() ? reflection->FieldSize(message, field) > 0 : reflection->HasField(message, field);
}

void copy_field(const Message& source, const FieldDescriptor* from, Message* target, const FieldDescriptor* to) {
  assert(from->cpp_type() == to->cpp_type() || loses_its_sign(from, to));
  assert(!from->is_repeated() || to->is_repeated());
  const int count = from->is_repeated() ? source.GetReflection()->FieldSize(source, from) : 1;
  for (int i = 0; i < count; ++i) copy_element(source, from, i, target, to);
}

FieldRef mutable_field(Message* root, const std::string& path) {
  size_t begin = 0;
  for (size_t dot; (dot = path.find('.', begin)) != std::string::npos; begin = dot + 1) {
    const FieldDescriptor* field = root->GetDescriptor()->FindFieldByName(path.substr(begin, dot - begin));
    assert(field && field->message_type());
    root = root->GetReflection()->MutableMessage(root, field);
  }
  const FieldDescriptor* last = root->GetDescriptor()->FindFieldByName(path.substr(begin));
  assert(last);
  return {root, last};
}

bool says_default(const google::protobuf::Message& message, const FieldDescriptor* field) {
  const auto* reflection = message.GetReflection();
  if (field->is_repeated()) return false;
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection->GetBool(message, field) == field->default_value_bool();
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflection->GetEnum(message, field) == field->default_value_enum();
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection->GetInt32(message, field) == field->default_value_int32();
    case FieldDescriptor::CPPTYPE_UINT32:
      return reflection->GetUInt32(message, field) == field->default_value_uint32();
    case FieldDescriptor::CPPTYPE_FLOAT:
      return reflection->GetFloat(message, field) == field->default_value_float();
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection->GetString(message, field) == field->default_value_string();
    default:
      return false;
  }
}

}  // namespace robusta
