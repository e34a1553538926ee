// A limit that cannot be understood is an error: whoever sets one means it.
#include "base/limit.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "base/str.h"
#include "robusta/error.h"

namespace robusta {

int64_t limit_from(const char* variable, int64_t usual) {
  const char* const text = std::getenv(variable);
  if (!text || !*text) return usual;
  const std::string_view digits = text;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc() && end == digits.data() + digits.size() && value > 0) return value;
  throw Error(ErrorKind::kUsage, str("the variable ", variable, " is \"", digits, "\""), "give a whole number above 0");
}

}  // namespace robusta
