// Walks the fields that are set: defaults are finite.

#include "layers/kit/field_checks.h"

#include <vector>

namespace robusta {

void require_finite_fields(const google::protobuf::Message& fields, const std::string& path) {
  using google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection& reflection = *fields.GetReflection();
  std::vector<const FieldDescriptor*> set;
  reflection.ListFields(fields, &set);
  for (const FieldDescriptor* field : set) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_FLOAT) continue;
    const std::string whole = path + '.' + field->name();
    if (!field->is_repeated()) require_finite(reflection.GetFloat(fields, field), whole);
    for (int i = 0; field->is_repeated() && i < reflection.FieldSize(fields, field); ++i) {
      require_finite(reflection.GetRepeatedFloat(fields, field, i), whole);
    }
  }
}

}  // namespace robusta
