/// Names of records, which all that writes databases shares.
#pragma once

#include <cstdint>
#include <string>

namespace robusta {

/// A number with leading zeros: padded(7, 5) is "00007". More digits are kept.
std::string padded(int64_t number, int digits);

}  // namespace robusta
