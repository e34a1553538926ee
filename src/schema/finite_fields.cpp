// Reflection finds all numbers, those of layers that are yet to come, too. Comparisons with NaN are false, so that
// checks of ranges let it pass, and a training would end with a loss that is not finite, far from the cause.

#include "schema/finite_fields.h"

#include <cmath>
#include <string>
#include <vector>

#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

/// "" where all are as they should be; else the path of the first that is not, and `value` becomes its.
std::string first_below(const Message& message, bool may_be_infinite, double& value);

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
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
    return name == "transform_param" || name.ends_with("_filler");
  return name == "loss_weight" || name == "lr_mult" || name == "decay_mult";
}

/// As first_below(), of one field.
std::string first_in(const Message& message, const FieldDescriptor* field, bool may_be_infinite, double& value) {
  const auto& reflection = *message.GetReflection();
  const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
  for (int i = 0; i < count; ++i) {
    const int index = field->is_repeated() ? i : -1;
    const std::string name = index < 0 ? field->name() : str(field->name(), "[", index, "]");
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      const Message& inner =
          index < 0 ? reflection.GetMessage(message, field) : reflection.GetRepeatedMessage(message, field, index);
      if (const std::string path = first_below(inner, may_be_infinite, value); !path.empty()) return name + "." + path;
    } else {
      value = number_of(message, field, index);
      if (!is_taken(value, may_be_infinite)) return name;
    }
  }
  return "";
}

std::string first_below(const Message& message, bool may_be_infinite, double& value) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const auto type = field->cpp_type();
    const bool is_number = type == FieldDescriptor::CPPTYPE_FLOAT || type == FieldDescriptor::CPPTYPE_DOUBLE;
    // Weights are checked where they are read.
    if ((!is_number && type != FieldDescriptor::CPPTYPE_MESSAGE) || field->name() == "blobs") continue;
    const bool infinite = may_be_infinite && !must_be_finite(*field);
    if (const std::string path = first_in(message, field, infinite, value); !path.empty()) return path;
  }
  return "";
}

}  // namespace

void refuse_not_finite(const NetDef& net) {
  for (int i = 0; i < net.param.layer_size(); ++i) {
    const caffe::LayerParameter& layer = net.param.layer(i);
    double value = 0;
    const std::string path = first_below(layer, true, value);
    if (path.empty()) continue;
    throw Error(ErrorKind::kConfig, str(path, " is ", value), "give a finite number")
        .in_field(path)
        .in_layer(layer.name())
        .at(net.source_of(i).where(path));
  }
}

}  // namespace robusta
