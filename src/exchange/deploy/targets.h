/// The toolchains that `caffe deploy -target NAME` writes for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace robusta::deploy {

/// Sets of toolchains, a bit each.
enum Toolchain : uint32_t {
  kOpenCv = 1,
  kNcnn = 1 << 1,
  kMnn = 1 << 2,
  kOpenVino = 1 << 3,
  kRknn = 1 << 4,
  kTpuMlir = 1 << 5,
  kAscend = 1 << 6,
  kNnie = 1 << 7,
  kHorizon = 1 << 8,
  kAcuity = 1 << 9,
  kNetron = 1 << 10,
  kAll = (1 << 11) - 1,
};

/// In the order of their bits.
std::vector<std::string> toolchain_names();

/// The names of a set, separated by commas; "all" for all of them.
std::string toolchains_text(uint32_t set);

/// "": none; "any": all. Throws Error{kUsage} with the nearest name.
uint32_t toolchains_named(const std::string& name);

}  // namespace robusta::deploy
