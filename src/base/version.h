/// Names of the program and of the Caffe it stands for.
#pragma once

namespace robusta {

inline constexpr const char* kVersion = "0.1.0";
inline constexpr const char* kCaffeVersion = "1.0.0";

}  // namespace robusta
