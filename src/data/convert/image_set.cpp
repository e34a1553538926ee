// A list of image files with labels to a database, in the list's order or shuffled.

#include "data/convert/image_set.h"

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "base/input_file.h"
#include "base/log.h"
#include "base/parallel.h"
#include "base/philox.h"
#include "base/str.h"
#include "caffe.pb.h"
#include "data/convert/files.h"
#include "data/error_of.h"
#include "data/image.h"
#include "data/lmdb/lmdb_writer.h"
#include "robusta/error.h"

namespace robusta {
namespace {

/// What became of one file.
struct Converted {
  std::string record;  // empty: failed
  Extent extent;
  std::string failure;
};

class Converter {
 public:
  explicit Converter(const ImageSetOptions& options) : options_(options) {
    encodes_ = options.encoded || !options.encode_type.empty();
    if (!options.encode_type.empty()) parse_image_format(options.encode_type);  // unknown types fail at once
    if (resizes() && options.resize_height > kMostPixels / options.resize_width) {
      throw Error(
          ErrorKind::kUsage,
          str("images of ", options.resize_width, " x ", options.resize_height, " pixels; at most ", kMostPixels),
          "give smaller --resize_height and --resize_width");
    }
  }

  Converted convert(const ImageListItem& item) const {
    Converted result;
    const auto error = error_of([&] { convert(item, result); }, "give --resize_height and --resize_width");
    if (error) result.failure = error->cause(), result.record.clear();
    return result;
  }

 private:
  void convert(const ImageListItem& item, Converted& result) const {
    const std::string file = read_input_file(options_.root + item.path, ErrorKind::kData);
    Image image;
    decode_image(file, options_.gray ? ColorMode::kGray : ColorMode::kColor, image);
    if (resizes()) {
      Image small;
      resize_bilinear(image.pixels(), options_.resize_height, options_.resize_width, small);
      image = std::move(small);
    }
    result.extent = image.extent;
    result.record = make_record(item, file, image).SerializeAsString();
  }

  bool resizes() const { return options_.resize_height > 0 && options_.resize_width > 0; }

  caffe::Datum make_record(const ImageListItem& item, const std::string& file, const Image& image) const {
    caffe::Datum datum;
    datum.set_label(item.label);
    datum.set_encoded(encodes_);
    if (encodes_) {
      datum.set_data(encoded(item, file, image));
    } else {
      datum.set_channels(static_cast<int32_t>(image.extent.channels));
      datum.set_height(static_cast<int32_t>(image.extent.height));
      datum.set_width(static_cast<int32_t>(image.extent.width));
      datum.set_data(image.planes.data(), image.planes.size());
    }
    return datum;
  }

  /// The file as it is where nothing is to be changed. Caffe compares the type with the file's name; so do we.
  std::string encoded(const ImageListItem& item, const std::string& file, const Image& image) const {
    const std::string extension = std::filesystem::path(item.path).extension().string();
    const std::string type = !options_.encode_type.empty() ? options_.encode_type : extension;
    const ImageFormat wanted = type.empty() ? image_format_of(file) : parse_image_format(type);
    const ImageFormat named = extension.empty() ? image_format_of(file) : parse_image_format(extension);
    const int64_t stored_channels = image_extent(file, ColorMode::kAsStored).channels;
    const bool channels_fit = (stored_channels == 3) == !options_.gray;
    if (!resizes() && channels_fit && wanted == named) return file;
    return encode_image(image, wanted);
  }

  const ImageSetOptions& options_;
  bool encodes_;
};

/// Fisher and Yates.
void shuffle(std::vector<ImageListItem>& items, uint64_t seed) {
  PhiloxStream random(random_key(seed, "convert_imageset", "shuffle"));
  for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
}

void check_sizes(const Converted& converted, const ImageListItem& item, Extent& first) {
  if (first.count() == 0) first = converted.extent;
  if (converted.extent == first) return;
  throw Error(ErrorKind::kData, str(item.path, " is ", converted.extent.str(), ", the first image is ", first.str()),
              "give --resize_height and --resize_width, or leave --check_size out");
}

}  // namespace

std::vector<ImageListItem> read_image_list(const std::string& path) {
  std::istringstream in(read_input_file(path, ErrorKind::kData));
  std::vector<ImageListItem> items;
  for (std::string line; std::getline(in, line);) {
    const size_t blank = line.rfind(' ');
    const std::string label = blank == std::string::npos ? line : line.substr(blank + 1);
    items.push_back({line.substr(0, blank), static_cast<int32_t>(std::strtol(label.c_str(), nullptr, 10))});
  }
  return items;
}

ImageSetResult convert_image_set(const ImageSetOptions& options) {
  constexpr size_t kBlock = 128;  // decoded side by side, written in order
  const Converter converter(options);
  std::vector<ImageListItem> items = read_image_list(options.list);
  if (items.empty())
    throw Error(ErrorKind::kData, options.list + " lists no image", "write one \"path label\" per line");
  if (options.shuffle) shuffle(items, options.seed);
  LOG_INFO << "A total of " << items.size() << " images.";
  LmdbWriter writer(options.folder);
  ImageSetResult result;
  Extent first;
  for (size_t start = 0; start < items.size(); start += kBlock) {
    std::vector<Converted> block(std::min(kBlock, items.size() - start));
    parallel_for(static_cast<int64_t>(block.size()), 1, [&](int64_t i) {
      block[static_cast<size_t>(i)] = converter.convert(items[start + static_cast<size_t>(i)]);
    });
    for (size_t i = 0; i < block.size(); ++i) {
      const ImageListItem& item = items[start + i];
      if (block[i].record.empty()) {
        LOG_ERROR << "skipped " << options.root << item.path << ": " << block[i].failure;
        ++result.skipped;
        continue;
      }
      if (options.check_size) check_sizes(block[i], item, first);
      writer.put(padded(static_cast<int64_t>(start + i), 8) + "_" + item.path, block[i].record);
      report_progress(++result.written);
    }
  }
  if (result.written == 0) {
    throw Error(ErrorKind::kData, str("none of the ", items.size(), " images of ", options.list, " could be read"),
                "the root folder " + options.root + " is put before each path as it is: does it need a / at its end?");
  }
  writer.finish();
  return result;
}

}  // namespace robusta
