/// Fields of Caffe's prototxts that are read and change nothing here, each with the reason; whoever sets one is told.
///
/// A field of the schema is either used or listed: a test walks the schema and asks which (tests/schema). A field that
/// means something that this build cannot do is refused by its layer or by the solver, and not listed.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>

#include "schema/source.h"

namespace robusta {

struct IgnoredField {
  std::string_view message, field;  ///< "ConvolutionParameter", "engine"
  std::string_view whose;           ///< who reads it: "Intel"
  std::string_view why;             ///< completes "changes nothing here: "
};

std::span<const IgnoredField> ignored_fields();
/// Null where the field is used.
const IgnoredField* find_ignored(std::string_view message, std::string_view field);

/// Warns once of each ignored field of each file, with the line of its first use. A field that says the same as its
/// absence is let pass.
class IgnoredFieldWarnings {
 public:
  void look_at(const NetDef& net);
  void look_at(const SolverDef& solver);

 private:
  std::set<std::string> warned_;  ///< file and field
};

}  // namespace robusta
