// Lists are read as a whole and checked line by line; image files are read when their record is asked for.

#include "data/image_files.h"

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>

#include "base/excerpt.h"
#include "base/input_file.h"
#include "base/input_text.h"
#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

constexpr char kBlanks[] = " \t\r";

[[noreturn]] void refuse_line(const std::string& list, int64_t line, const std::string& cause) {
  throw Error(ErrorKind::kData, cause, "write \"path label\", the label a whole number").at(str(list, ":", line));
}

ListedImage parse_line(std::string_view text, const std::string& list, int64_t line) {
  const size_t blank = text.rfind(' ');
  const size_t path_end = blank == std::string_view::npos ? blank : text.find_last_not_of(kBlanks, blank);
  if (path_end == std::string_view::npos)
    refuse_line(list, line, str("\"", excerpt(text), "\" is a path without a label"));
  return {std::string(text.substr(0, path_end + 1)), parse_label(text.substr(blank + 1), list, line), line};
}

}  // namespace

int32_t parse_label(std::string_view text, const std::string& list, int64_t line) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  constexpr double kMost = 2147483647;
  if (code != std::errc() || end != text.data() + text.size() || !(std::fabs(value) <= kMost))
    refuse_line(list, line, str("\"", excerpt(text), "\" is no label"));
  return static_cast<int32_t>(value);
}

void read_image_file(const std::string& path, std::string& bytes) {
  const InputFile file = open_input_file(path, ErrorKind::kData);
  constexpr off_t kMostBytes = off_t{1} << 31;  // the codecs count in 32 bits
  if (file.info.st_size >= kMostBytes) {
    throw Error(ErrorKind::kData, str("an image file of ", file.info.st_size, " bytes"), "make it smaller").at(path);
  }
  bytes.resize(static_cast<size_t>(file.info.st_size));
  size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = ::read(file.descriptor.get(), bytes.data() + have, bytes.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Error(ErrorKind::kData, str("cannot read: ", std::strerror(errno)), "check the disk").at(path);
    if (got == 0) break;  // cut off since it was opened; the decoder says what is missing
    have += static_cast<size_t>(got);
  }
  bytes.resize(have);
}

std::vector<ListedImage> read_labelled_images(const std::string& list) {
  const std::string text = read_input_text(list, ErrorKind::kData);
  std::vector<ListedImage> images;
  std::string_view rest = text;
  for (int64_t line = 1; !rest.empty(); ++line) {
    const size_t end = rest.find('\n');
    std::string_view item = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    item.remove_suffix(item.size() - (item.find_last_not_of(kBlanks) + 1));
    if (!item.empty()) images.push_back(parse_line(item, list, line));
  }
  if (images.empty()) throw Error(ErrorKind::kData, "the list names no image", "write \"path label\" lines").at(list);
  return images;
}

ImageFilesReader::ImageFilesReader(const std::string& list, std::string root)
    : list_(list), root_(std::move(root)), images_(read_labelled_images(list)) {}

std::string_view ImageFilesReader::record(int64_t index, std::string& storage) const {
  const ListedImage& image = images_[static_cast<size_t>(index)];
  try {
    read_image_file(root_ + image.path, storage);
  } catch (const Error& error) {
    throw Error(error.kind(), root_ + image.path + ": " + error.cause(),
                "check the path; root_folder is put before it as it is, with no / between")
        .at(str(list_, ":", image.line));
  }
  return storage;
}

std::string ImageFilesReader::key(int64_t index) const {
  const ListedImage& image = images_[static_cast<size_t>(index)];
  return str(image.path, ", line ", image.line);
}

}  // namespace robusta
