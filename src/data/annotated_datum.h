/// Records of databases with boxes: a serialised caffe.AnnotatedDatum each.
///
/// As with a Datum (data/datum.h), a record is not trusted: whatever its bytes are, the result is boxes that lie in or
/// across the image, or an Error.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "data/transform/annotations.h"

namespace robusta {

/// `datum` points into the record.
struct AnnotatedView {
  std::string_view datum;           ///< a serialised Datum
  std::optional<int> type;          ///< AnnotatedDatum.type; nothing: it has a label alone
  std::vector<AnnotatedBox> boxes;  ///< in the order of the record, those without area left out
};

/// Boxes come in the order of their groups. Throws Error{kData}: no AnnotatedDatum; a box with a coordinate that is not
/// finite, upside down, or with no part in the image. Empty boxes are left out.
AnnotatedView parse_annotated_datum(std::string_view record);

}  // namespace robusta
