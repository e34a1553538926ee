/// Times for people.
#pragma once

#include <string>

namespace robusta {

/// "01:02:03" for 3723 seconds.
std::string clock_text(double seconds);

}  // namespace robusta
