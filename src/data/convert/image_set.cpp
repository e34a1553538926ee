// A list of image files with labels to a database, in the list's order or shuffled.

#include "data/convert/image_set.h"

#include <cstdlib>
#include <sstream>

#include "base/input_text.h"
#include "base/log.h"
#include "data/convert/image_records.h"
#include "data/error_of.h"
#include "robusta/error.h"

namespace robusta {

std::vector<ImageListItem> read_image_list(const std::string& path) {
  std::istringstream in(read_input_text(path, ErrorKind::kData));
  std::vector<ImageListItem> items;
  size_t without = 0, first = 0;  // labels; the first line that lacks one
  for (std::string line; std::getline(in, line);) {
    const size_t blank = line.rfind(' ');
    const std::string label = blank == std::string::npos ? line : line.substr(blank + 1);
    char* end = nullptr;
    items.push_back({line.substr(0, blank), static_cast<int32_t>(std::strtol(label.c_str(), &end, 10))});
    if (end == label.c_str() && without++ == 0) first = items.size();
  }
  if (without > 0) {
    LOG_WARNING << path << ':' << first << ": the last word is no number, here and in " << without - 1
                << " more lines: as in Caffe, these images get label 0";
  }
  return items;
}

ImageSetResult convert_image_set(const ImageSetOptions& options) {
  const ImageToDatum images(options.image);
  std::vector<ImageListItem> items = read_image_list(options.list);
  if (items.empty())
    throw Error(ErrorKind::kData, options.list + " lists no image", "write one \"path label\" per line");
  if (options.shuffle) shuffle_items(items, options.seed, "convert_imageset");
  LOG_INFO << "A total of " << items.size() << " images.";
  std::vector<std::string> paths;
  for (const ImageListItem& item : items) paths.push_back(item.path);
  const auto convert = [&](size_t index) {
    ConvertedItem result;
    const auto error = error_of(
        [&] {
          ImageToDatum::Result converted = images.convert(options.root + items[index].path);
          converted.datum.set_label(items[index].label);
          result.extent = converted.extent;
          result.record = converted.datum.SerializeAsString();
        },
        "give --resize_height and --resize_width");
    if (error) result.failure = error->cause(), result.record.clear();
    return result;
  };
  const auto [written, skipped] =
      write_image_records(paths, {options.backend, options.folder, options.root, options.check_size}, convert);
  if (written == 0) refuse_unreadable(items.size(), options.list, options.root);
  return {written, skipped};
}

}  // namespace robusta
