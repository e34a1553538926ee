// Lists are read as a whole and checked line by line; files are read when their record is asked for. A record begins
// with the length of its image file.

#include "data/image_pairs.h"

#include <cstring>
#include <iterator>
#include <sstream>

#include "base/input_text.h"
#include "base/str.h"
#include "data/image_files.h"
#include "robusta/error.h"

namespace robusta {
namespace {

using Length = uint64_t;

const char* form_of_line(PixelLabels labels) {
  return labels == PixelLabels::kMap         ? "write \"image map\", two paths without blanks"
         : labels == PixelLabels::kOneForAll ? "write \"image label\", a path without blanks and a whole number"
                                             : "write the path of an image, without blanks";
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

ListedPair pair_of(const std::vector<std::string>& words, PixelLabels labels, const std::string& list, int64_t line) {
  ListedPair pair{.image = words[0], .map = "", .label = 0, .line = line};
  if (labels == PixelLabels::kNone) return pair;
  if (words.size() != 2) {
    throw Error(ErrorKind::kData, str("the line has ", words.size(), " words"), form_of_line(labels))
        .at(str(list, ":", line));
  }
  if (labels == PixelLabels::kMap)
    pair.map = words[1];
  else
    pair.label = parse_label(words[1], list, line);
  return pair;
}

}  // namespace

std::vector<ListedPair> read_listed_pairs(const std::string& list, PixelLabels labels) {
  std::istringstream text(read_input_text(list, ErrorKind::kData));
  std::vector<ListedPair> pairs;
  std::string item;
  for (int64_t line = 1; std::getline(text, item); ++line) {
    const std::vector<std::string> words = words_of(item);
    if (!words.empty()) pairs.push_back(pair_of(words, labels, list, line));
  }
  if (pairs.empty()) throw Error(ErrorKind::kData, "the list names no image", form_of_line(labels)).at(list);
  return pairs;
}

PairView split_pair(std::string_view record) {
  Length length = 0;
  std::memcpy(&length, record.data(), sizeof length);
  record.remove_prefix(sizeof length);
  return {record.substr(0, length), record.substr(length)};
}

ImagePairsReader::ImagePairsReader(const std::string& list, std::string root, PixelLabels labels)
    : list_(list), root_(std::move(root)), labels_(labels), pairs_(read_listed_pairs(list, labels)) {}

void ImagePairsReader::append_file(const std::string& path, int64_t line, std::string& storage) const {
  thread_local std::string bytes;
  try {
    read_image_file(root_ + path, bytes);
  } catch (const Error& error) {
    throw Error(error.kind(), root_ + path + ": " + error.cause(),
                "check the path; root_folder is put before it as it is, with no / between")
        .at(str(list_, ":", line));
  }
  storage += bytes;
}

std::string_view ImagePairsReader::record(int64_t index, std::string& storage) const {
  const ListedPair& listed = pair(index);
  storage.assign(sizeof(Length), '\0');
  append_file(listed.image, listed.line, storage);
  const Length length = storage.size() - sizeof length;
  std::memcpy(storage.data(), &length, sizeof length);
  if (labels_ == PixelLabels::kMap) append_file(listed.map, listed.line, storage);
  return storage;
}

std::string ImagePairsReader::key(int64_t index) const {
  const ListedPair& listed = pair(index);
  return str(listed.image, ", line ", listed.line);
}

}  // namespace robusta
