/// The plugins of a command line.
#pragma once

#include <string>
#include <vector>

namespace robusta {

/// Loads each (robusta/layer.h: load_plugin). Throws Error{kUsage|kUnsupported}.
void load_plugins(const std::vector<std::string>& paths);

}  // namespace robusta
