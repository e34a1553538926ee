/// Recorded results of the real Caffe: containers of named float arrays, and the folder they lie in.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace robusta::test {

struct GoldenArray {
  std::vector<int64_t> dims;  ///< empty: a scalar, one value
  std::vector<float> values;
};

using GoldenFile = std::map<std::string, GoldenArray>;

/// The folder of cases: ROBUSTA_GOLDEN_DIR, else `golden` in ROBUSTA_SHARED_DIR, else <source>/../shared/golden. It may
/// not exist: tests skip then.
std::filesystem::path golden_dir();

/// Reads a CAFGOLD1 container: magic, number of arrays, then name, dims and float32 values of each, little-endian.
/// Throws std::runtime_error for anything else.
GoldenFile read_golden(const std::filesystem::path& path);

/// Writes the same container.
void write_golden(const std::filesystem::path& path, const GoldenFile& arrays);

}  // namespace robusta::test
