// MNIST's files (IDX): big-endian sizes, then bytes.
//
// The first word is two zero bytes, a byte for the type of the numbers, 8 for unsigned bytes, and one for how many axes
// there are: 0x0803 for images, 0x0801 for labels. Then a word for the extent of each axis, then the numbers, the last
// axis fastest (LeCun, Cortes, Burges, "The MNIST database of handwritten digits").

#include "data/convert/idx.h"

#include "base/input_file.h"
#include "base/str.h"
#include "caffe.pb.h"
#include "data/convert/files.h"
#include "data/writer_kinds.h"
#include "robusta/error.h"

namespace robusta {
namespace {

constexpr uint32_t kImageMagic = 2051, kLabelMagic = 2049;

[[noreturn]] void fail(const std::string& path, const std::string& cause, const std::string& fix = "fetch it again") {
  throw Error(ErrorKind::kData, path + " " + cause, fix);
}

uint32_t word(const std::string& file, size_t index) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(file[4 * index + i]);
  return value;
}

/// The file without its header of `words` big-endian words, which go to `header`.
std::string read_checked(const std::string& path, uint32_t magic, size_t words, uint32_t* header) {
  std::string file = read_input_file(path, ErrorKind::kData);
  if (file.starts_with("\x1f\x8b")) fail(path, "is compressed", "unpack it with gunzip first");
  if (file.size() < 4 * words) fail(path, "is cut off");
  for (size_t i = 0; i < words; ++i) header[i] = word(file, i);
  if (header[0] != magic)
    fail(path, str("begins with ", header[0], " instead of ", magic), "are images and labels exchanged?");
  return file.substr(4 * words);
}

}  // namespace

IdxImages read_idx(const std::string& image_file, const std::string& label_file) {
  uint32_t image_header[4], label_header[2];
  IdxImages images;
  images.pixels = read_checked(image_file, kImageMagic, 4, image_header);
  images.labels = read_checked(label_file, kLabelMagic, 2, label_header);
  images.count = image_header[1];
  images.rows = image_header[2];
  images.cols = image_header[3];
  const auto bytes = static_cast<unsigned __int128>(images.count) * image_header[2] * image_header[3];
  if (bytes != images.pixels.size()) {
    fail(image_file, str("holds ", images.pixels.size(), " bytes of pixels, not ", images.count, " x ", images.rows,
                         " x ", images.cols));
  }
  if (label_header[1] != images.labels.size()) {
    fail(label_file, str("holds ", images.labels.size(), " labels, not ", label_header[1]));
  }
  if (images.count != label_header[1]) {
    fail(label_file, str("has ", label_header[1], " labels for ", images.count, " images"),
         "give files that belong together");
  }
  if (images.pixels.empty()) fail(image_file, "holds no image");
  return images;
}

int64_t convert_mnist(const std::string& image_file, const std::string& label_file, const std::string& folder,
                      const std::string& backend) {
  const IdxImages images = read_idx(image_file, label_file);
  const auto writer = make_writer(backend, folder);
  const auto item = static_cast<size_t>(images.rows * images.cols);
  caffe::Datum datum;
  datum.set_channels(1);
  datum.set_height(static_cast<int32_t>(images.rows));
  datum.set_width(static_cast<int32_t>(images.cols));
  for (int64_t i = 0; i < images.count; ++i) {
    datum.set_data(images.pixels.data() + static_cast<size_t>(i) * item, item);
    datum.set_label(static_cast<unsigned char>(images.labels[static_cast<size_t>(i)]));
    writer->put(padded(i, 8), datum.SerializeAsString());
  }
  writer->finish();
  return images.count;
}

}  // namespace robusta
