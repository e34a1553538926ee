/// Limits on what files may ask of memory and time. Each has a variable of the environment that sets another one.
#pragma once

#include <cstdint>

namespace robusta {

/// The value of `variable`, else `usual`. Throws Error{kUsage} unless it is a positive whole number.
int64_t limit_from(const char* variable, int64_t usual);

}  // namespace robusta
