/// A text file of nested things - elements of XML, values of JSON - as a tree.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace robusta {

struct TextTree {
  std::string name;  ///< of an XML element, or of the member of a JSON object; empty in JSON arrays
  std::string text;  ///< XML: the characters between its tags; JSON: of a string, number, true, false or null
  std::vector<TextTree> children;
  int64_t line = 1;  ///< where it begins, for messages

  /// The first child of that name, or null.
  const TextTree* find(std::string_view child) const {
    for (const TextTree& c : children) {
      if (c.name == child) return &c;
    }
    return nullptr;
  }
};

/// No deeper nesting is read: reading is recursive.
inline constexpr int kDeepestText = 100;

/// The root element of an XML file: elements, text, references to characters, CDATA; attributes, comments, processing
/// instructions and a DOCTYPE without a subset of its own are passed over. Throws Error{kData} at "name:line" for what
/// is not well-formed.
TextTree parse_xml(std::string_view text, const std::string& name);

/// The value of a JSON file (RFC 8259). Throws Error{kData} at "name:line".
TextTree parse_json(std::string_view text, const std::string& name);

}  // namespace robusta
