/// Texts from messages and databases, told by how a file begins.
#pragma once

#include <string>

#include "robusta/error.h"

namespace robusta {

/// Whether the file begins with bytes that no text has. Throws Error{kind} where there is no file that may be read.
bool looks_binary(const std::string& path, ErrorKind kind);

}  // namespace robusta
