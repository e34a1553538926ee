/// Numbers that are none, found in messages of any type.
#pragma once

#include <optional>
#include <string>

#include "schema/source.h"

namespace robusta {

struct NotFinite {
  std::string path;  ///< of the field, as FieldLines has it; its index where it has more than one element
  double value = 0;
};

/// The first number of the message, and of those inside, that is NaN or infinite. Nets and arrays inside are left out:
/// they are looked at by themselves. With `may_be_infinite` infinity counts in transform_param, fillers, loss_weight
/// and the factors of a parameter alone, where every sample, loss or weight would become infinite; elsewhere it may be
/// meant, as the bound of a Clip.
std::optional<NotFinite> first_not_finite(const google::protobuf::Message& message, bool may_be_infinite);

/// Throws Error{kConfig} at the first such number of a layer.
void refuse_not_finite(const NetDef& net);

}  // namespace robusta
