/// Checks of the numbers in a layer's fields that many layers make.
#pragma once

#include <cmath>
#include <string>
#include <string_view>

#include <google/protobuf/message.h>

#include "base/str.h"
#include "robusta/error.h"

namespace robusta {

/// "margin" of "contrastive_loss_param.margin".
inline std::string_view last_part(std::string_view field) { return field.substr(field.rfind('.') + 1); }

/// What a user is told of a field: its path, such as "prior_box_param.min_size".
inline Error wrong_setting(std::string_view path, const std::string& cause, const std::string& fix) {
  return Error(ErrorKind::kConfig, cause, fix).in_field(path);
}

/// Throws Error{kConfig} in `field` unless `value` is a finite number. Returns it.
inline float require_finite(float value, std::string_view field) {
  if (std::isfinite(value)) return value;
  throw Error(ErrorKind::kConfig, str(last_part(field), " is ", value), "give a finite number").in_field(field);
}

/// The same of each float in `fields`, which stands in the layer as `path`; those of messages within it are not looked
/// at.
void require_finite_fields(const google::protobuf::Message& fields, const std::string& path);

/// The natural logarithm of a `base` field, in which -1 stands for e (as in Caffe). Throws Error{kConfig} in `field`
/// unless the base has a logarithm.
inline double log_of_base(float base, std::string_view field) {
  if (base == -1) return 1;
  if (base > 0 && std::isfinite(base)) return std::log(static_cast<double>(base));
  throw Error(ErrorKind::kConfig, str("base is ", base), "give a positive number, or -1 for e").in_field(field);
}

}  // namespace robusta
