// Files and counters that all converters share.

#include "data/convert/files.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/log.h"
#include "robusta/error.h"

namespace robusta {

std::string read_whole_file(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) throw Error(ErrorKind::kData, path + " is a folder", "give a file");
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(in), {}};
  if (!in.good() && !in.eof())
    throw Error(ErrorKind::kData, "cannot read " + path + ": " + std::strerror(errno), "check the path");
  return content;
}

std::string padded(int64_t number, int digits) {
  std::string text = std::to_string(number);
  const auto width = static_cast<size_t>(digits);
  return text.size() >= width ? text : std::string(width - text.size(), '0') + text;
}

void report_progress(int64_t done) {
  constexpr int64_t kEvery = 1000;
  if (done % kEvery == 0) LOG_INFO << "Processed " << done << " files.";
}

}  // namespace robusta
