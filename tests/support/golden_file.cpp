#include "support/golden_file.h"
#include "support/places.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace robusta::test {
namespace {

constexpr char kMagic[] = "CAFGOLD1";

template <typename T>
T read_value(std::istream& in) {
  T value{};
  in.read(reinterpret_cast<char*>(&value), sizeof value);
  return value;
}

template <typename T>
void write_value(std::ostream& out, T value) {
  out.write(reinterpret_cast<const char*>(&value), sizeof value);
}

GoldenArray read_array(std::istream& in) {
  GoldenArray array;
  const uint32_t axes = read_value<uint32_t>(in);
  if (axes > 32) throw std::runtime_error("too many dimensions");
  int64_t count = 1;
  for (uint32_t axis = 0; axis < axes; ++axis) {
    array.dims.push_back(read_value<uint32_t>(in));
    count *= array.dims.back();
  }
  if (count > (int64_t{1} << 28)) throw std::runtime_error("array too large");
  array.values.resize(static_cast<size_t>(count));
  in.read(reinterpret_cast<char*>(array.values.data()), static_cast<std::streamsize>(count * sizeof(float)));
  return array;
}

}  // namespace

std::filesystem::path golden_dir() {
  if (const char* dir = std::getenv("ROBUSTA_GOLDEN_DIR")) return dir;
  if (const char* dir = std::getenv("ROBUSTA_SHARED_DIR")) return std::filesystem::path(dir) / "golden";
  return std::filesystem::path(source_dir()) / ".." / "shared" / "golden";
}

GoldenFile read_golden(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  char magic[8] = {};
  in.read(magic, sizeof magic);
  if (!in || std::memcmp(magic, kMagic, sizeof magic) != 0) {
    throw std::runtime_error("not a CAFGOLD1 file: " + path.string());
  }
  GoldenFile file;
  const uint32_t arrays = read_value<uint32_t>(in);
  for (uint32_t i = 0; i < arrays && in; ++i) {
    std::string name(read_value<uint32_t>(in) & 0xffff, '\0');
    in.read(name.data(), static_cast<std::streamsize>(name.size()));
    file[name] = read_array(in);
  }
  if (!in || file.size() != arrays) throw std::runtime_error("truncated CAFGOLD1 file: " + path.string());
  return file;
}

void write_golden(const std::filesystem::path& path, const GoldenFile& arrays) {
  std::ofstream out(path, std::ios::binary);
  out.write(kMagic, 8);
  write_value(out, static_cast<uint32_t>(arrays.size()));
  for (const auto& [name, array] : arrays) {
    write_value(out, static_cast<uint32_t>(name.size()));
    out.write(name.data(), static_cast<std::streamsize>(name.size()));
    write_value(out, static_cast<uint32_t>(array.dims.size()));
    for (int64_t dim : array.dims) write_value(out, static_cast<uint32_t>(dim));
    out.write(reinterpret_cast<const char*>(array.values.data()),
              static_cast<std::streamsize>(array.values.size() * sizeof(float)));
  }
  if (!out.flush()) throw std::runtime_error("cannot write " + path.string());
}

}  // namespace robusta::test
