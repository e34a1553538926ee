// From weiliu89/caffe, branch ssd: what tools/create_label_map and tools/get_image_size write.
//
// The lines of a map file are name, label and what is shown, the last two of which may be missing; those of a file of
// sizes "name height width", which DetectionEvaluate reads as its name_size_file.

#include "data/convert/name_files.h"

#include <charconv>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "base/atomic_file.h"
#include "base/excerpt.h"
#include "base/input_text.h"
#include "base/str.h"
#include "caffe.pb.h"
#include "data/convert/progress.h"
#include "data/image.h"
#include "data/image_files.h"
#include "robusta/error.h"
#include "schema/print.h"

namespace robusta {
namespace {

struct TextLine {
  int64_t number = 0;
  std::vector<std::string> words;
};

/// Words between `delimiter`; empty lines and empty words are left out.
std::vector<TextLine> read_word_lines(const std::string& path, char delimiter) {
  std::istringstream in(read_input_text(path, ErrorKind::kData));
  std::vector<TextLine> lines;
  int64_t number = 0;
  for (std::string text; std::getline(in, text);) {
    TextLine line{++number, {}};
    while (!text.empty() && text.back() == '\r') text.pop_back();
    std::istringstream words(text);
    for (std::string word; std::getline(words, word, delimiter);) {
      if (!word.empty()) line.words.push_back(word);
    }
    if (!line.words.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

int32_t label_in(const std::string& word, const std::string& path, int64_t line) {
  int32_t label = 0;
  const auto [end, status] = std::from_chars(word.data(), word.data() + word.size(), label);
  if (status == std::errc() && end == word.data() + word.size()) return label;
  throw Error(ErrorKind::kData, "\"" + excerpt(word) + "\" is no label", "write name, label, display name")
      .at(str(path, ":", line));
}

void add_item(const std::string& name, int32_t label, const std::string& shown, caffe::LabelMap& map) {
  caffe::LabelMapItem* item = map.add_item();
  item->set_name(name);
  item->set_label(label);
  item->set_display_name(shown);
}

}  // namespace

int64_t create_label_map(const std::string& map_file, const std::string& out_file, char delimiter,
                         bool include_background) {
  caffe::LabelMap map;
  std::set<int32_t> taken;
  // The names are SSD's own, as scripts look for them.
  if (include_background) add_item("none_of_the_above", 0, "background", map), taken.insert(0);
  for (const TextLine& line : read_word_lines(map_file, delimiter)) {
    const int32_t label =
        line.words.size() > 1 ? label_in(line.words[1], map_file, line.number) : static_cast<int32_t>(map.item_size());
    if (!taken.insert(label).second) {
      throw Error(ErrorKind::kData, str("label ", label, " comes twice"), "give each name a label of its own")
          .at(str(map_file, ":", line.number));
    }
    add_item(line.words[0], label, line.words.size() > 2 ? line.words[2] : line.words[0], map);
  }
  write_text_proto(out_file, map);
  return map.item_size();
}

int64_t write_image_sizes(const std::string& root, const std::string& list, const std::string& out_file,
                          const std::string& name_ids) {
  std::map<std::string, std::string> ids;
  if (!name_ids.empty()) {
    for (const TextLine& line : read_word_lines(name_ids, ' ')) {
      if (line.words.size() > 1) ids[line.words[0]] = line.words[1];
    }
  }
  std::string text, file;
  const std::vector<TextLine> lines = read_word_lines(list, ' ');
  ConversionProgress progress(static_cast<int64_t>(lines.size()));
  int64_t count = 0;
  for (const TextLine& line : lines) {
    try {
      read_image_file(root + line.words[0], file);
      const Extent extent = image_extent(file, ColorMode::kColor);
      std::string name = std::filesystem::path(line.words[0]).stem().string();
      if (!name_ids.empty()) {
        const auto id = ids.find(name);
        if (id == ids.end())
          throw Error(ErrorKind::kData, name_ids + " has no \"" + excerpt(name) + "\"", "add a line \"name id\"");
        name = id->second;
      }
      text += str(name, ' ', extent.height, ' ', extent.width, '\n');
    } catch (const Error& error) {
      throw Error(error.kind(), root + line.words[0] + ": " + error.cause(), error.fix())
          .at(str(list, ":", line.number));
    }
    progress.show(++count);
  }
  write_file_atomically(out_file, [&](int fd) { write_all(fd, text.data(), text.size()); });
  return count;
}

}  // namespace robusta
