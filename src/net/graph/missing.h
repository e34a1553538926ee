/// One report of all that a net wants and this build does not have: a user who mends one place at a time would start
/// the program as often.
#pragma once

#include <string>

#include "schema/source.h"

namespace robusta {

/// Throws Error{kUnsupported}, or Error{kConfig} where a type of layer is known to nobody: of one layer as such, of
/// several with a line for each cause, which names the first layer and counts the others.
void refuse_missing(const NetDef& def);

/// As read_net and parse_net (schema/read_text.h); where the schema lacks what the net says, what its layers want in
/// vain is in the same report, of all phases.
NetDef read_whole_net(const std::string& path);
NetDef parse_whole_net(const std::string& text, const std::string& name);

}  // namespace robusta
