/// Fields of the community's forks that the schema reads and nothing computes yet: who sets one is refused, exit
/// code 9.
///
/// The author of what a field does removes its line from the table, and nothing else. A test walks the schema and asks
/// for each field that it be used, ignored with a reason (ignored_fields.h), or listed here.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "caffe.pb.h"
#include "robusta/error.h"

namespace robusta {

struct AbsentField {
  std::string_view message, field;  ///< "PoolingParameter", "dilation"
  std::string_view whose;           ///< who reads it: "C3D"
  std::string_view fix;             ///< what to write instead
  std::string_view but_of = {};     ///< the type of layers that do read it; none: no layer does
};

std::span<const AbsentField> absent_fields();
/// Null where the field is used or ignored.
const AbsentField* find_absent(std::string_view message, std::string_view field);

/// Error{kUnsupported} for each such field that the layer sets to more than its default, with its path.
std::vector<Error> absent_fields_in(const caffe::LayerParameter& layer);

}  // namespace robusta
