/// Names that some Caffe knows and this build may lack: what is known is refused as absent (exit code 9) and with its
/// origin, never called unknown. Pure data; what is built in is asked of the registries first.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "robusta/error.h"

namespace robusta {

/// Who knows the name: "BVLC, Intel, NVIDIA", "SegNet". None where nobody does.
std::optional<std::string_view> who_knows_layer(std::string_view type);
/// What does as well as a layer of this type, as the fix of an error; "" where nothing is known.
std::string way_round_layer(std::string_view type);
/// A value of `layers { type: ... }`, the old form.
std::optional<std::string_view> who_knows_old_layer(std::string_view type);
std::optional<std::string_view> who_knows_rule(std::string_view solver_type);

/// What to refuse a name with that somebody knows: `what` is such as `layer type "PriorBox"`.
Error not_in_this_build(std::string_view what, std::string_view whose, std::string fix);

/// For the field `name` of `message` ("PoolingParameter"; "" where it is not known), which the schema does not have, or
/// `value` of an enum that does not have it. None where nobody knows it.
std::optional<Error> refuse_known_field(std::string_view message, std::string_view name);
std::optional<Error> refuse_known_value(std::string_view field, std::string_view value);

}  // namespace robusta
