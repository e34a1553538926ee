#include "support/files.h"
#include "support/places.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace robusta::test {

TempDir::TempDir() {
  std::string pattern = (std::filesystem::temp_directory_path() / "robusta-test-XXXXXX").string();
  if (!mkdtemp(pattern.data())) throw std::runtime_error("cannot make " + pattern);
  path_ = pattern;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const std::string& path, const std::string& content) {
  std::ofstream out(path, std::ios::binary);
  out << content;
  if (!out.flush()) throw std::runtime_error("cannot write " + path);
}

std::string shared_file(const std::string& name) {
  const char* given = std::getenv("ROBUSTA_SHARED_DIR");
  const std::string path = (given ? std::string(given) : source_dir() + "/../shared") + "/" + name;
  return std::filesystem::exists(path) ? path : "";
}

}  // namespace robusta::test
