/// Names of the program and of the Caffe it stands for.
#pragma once

#include "robusta/version.h"

namespace robusta {

inline constexpr const char* kVersion = ROBUSTA_VERSION;
inline constexpr const char* kCaffeVersion = "1.0.0";  ///< of the BVLC Caffe whose files and flags are known

}  // namespace robusta
