/// Text that is UTF-8 whatever it was: for formats that allow nothing else.
#pragma once

#include <string>
#include <string_view>

namespace robusta {

/// `text` with U+FFFD in place of each byte that begins no character of UTF-8 (RFC 3629: neither an overlong form, nor
/// half a surrogate pair, nor what is beyond U+10FFFF). Text that is UTF-8 stays as it is.
std::string as_utf8(std::string_view text);

}  // namespace robusta
