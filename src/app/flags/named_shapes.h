/// A flag that gives shapes by name: NAME:1,3,224,224, several separated by semicolons.
#pragma once

#include <map>
#include <string>

#include "tensor/shape.h"

namespace robusta {

/// Empty for an empty text. Throws Error{kUsage} for what is no such list.
std::map<std::string, Shape> named_shapes(const std::string& text);

}  // namespace robusta
