// Reflection finds all numbers, those of layers that are yet to come, too. Comparisons with NaN are false, so that
// checks of ranges let it pass, and a training would end with a loss that is not finite, far from the cause.

#include "schema/finite_fields.h"

#include <cmath>
#include <vector>

#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

bool is_taken(double value, bool may_be_infinite) {
  return std::isfinite(value) || (may_be_infinite && !std::isnan(value));
}

/// Element `index` of a repeated field; -1: the field has one value.
double number_of(const Message& message, const FieldDescriptor* field, int index) {
  const auto& reflection = *message.GetReflection();
  const bool is_float = field->cpp_type() == FieldDescriptor::CPPTYPE_FLOAT;
  if (index < 0) return is_float ? reflection.GetFloat(message, field) : reflection.GetDouble(message, field);
  return is_float ? reflection.GetRepeatedFloat(message, field, index)
                  : reflection.GetRepeatedDouble(message, field, index);
}

bool must_be_finite(const FieldDescriptor& field) {
  const std::string& name = field.name();
  if (field.message_type()) return name == "transform_param" || name.ends_with("_filler");
  return name == "loss_weight" || name == "lr_mult" || name == "decay_mult";
}

bool is_looked_at(const FieldDescriptor& field) {
  if (const auto* inner = field.message_type()) return inner->name() != "NetParameter" && inner->name() != "BlobProto";
  return field.cpp_type() == FieldDescriptor::CPPTYPE_FLOAT || field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE;
}

/// Of one element of a field, its path being `name`.
std::optional<NotFinite> first_in(const Message& message, const FieldDescriptor* field, int index, bool may_be_infinite,
                                  const std::string& name) {
  if (!field->message_type()) {
    const double value = number_of(message, field, index);
    return is_taken(value, may_be_infinite) ? std::nullopt : std::optional(NotFinite{name, value});
  }
  const auto& reflection = *message.GetReflection();
  const Message& inner =
      index < 0 ? reflection.GetMessage(message, field) : reflection.GetRepeatedMessage(message, field, index);
  std::optional<NotFinite> found = first_not_finite(inner, may_be_infinite);
  if (found) found->path = str(name, ".", found->path);
  return found;
}

}  // namespace

std::optional<NotFinite> first_not_finite(const Message& message, bool may_be_infinite) {
  const auto& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (!is_looked_at(*field)) continue;
    const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      const std::string name = count > 1 ? str(field->name(), "[", i, "]") : field->name();
      const int index = field->is_repeated() ? i : -1;
      auto found = first_in(message, field, index, may_be_infinite && !must_be_finite(*field), name);
      if (found) return found;
    }
  }
  return std::nullopt;
}

void refuse_not_finite(const NetDef& net) {
  for (int i = 0; i < net.param.layer_size(); ++i) {
    const caffe::LayerParameter& layer = net.param.layer(i);
    const auto found = first_not_finite(layer, true);
    if (!found) continue;
    throw Error(ErrorKind::kConfig, str(found->path, " is ", found->value), "give a finite number")
        .in_field(found->path)
        .in_layer(layer.name())
        .at(net.source_of(i).where(found->path));
  }
}

}  // namespace robusta
