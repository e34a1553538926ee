/// For code that runs before the constructors of all shared libraries, in .preinit_array of a program (System V ABI,
/// "Initialization and Termination Functions"). The C library is not set up yet, a sanitizer neither: getenv finds
/// nothing, and memory is what the code brings.
#pragma once

#define ROBUSTA_EARLY __attribute__((no_sanitize("address", "thread", "undefined")))

namespace robusta {

ROBUSTA_EARLY inline bool begins_with(const char* text, const char* beginning) {
  while (*beginning && *text == *beginning) ++text, ++beginning;
  return !*beginning;
}

/// The value of a variable; null where it is not set. `beginning`: its name and "=".
ROBUSTA_EARLY inline const char* early_value(char** variables, const char* beginning) {
  for (; *variables; ++variables) {
    if (!begins_with(*variables, beginning)) continue;
    const char* value = *variables;
    for (; *beginning; ++beginning) ++value;
    return value;
  }
  return nullptr;
}

}  // namespace robusta
