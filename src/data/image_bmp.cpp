// BMP without compression: pixels of 1, 4 or 8 bits of a palette, or of 24 or 32 bits. What Windows' documentation
// calls BITMAPCOREHEADER, BITMAPINFOHEADER and its successors ("Bitmap Storage", learn.microsoft.com). All pixels lie
// in the file, so that a small file asks for little memory.

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

#include "base/str.h"
#include "data/image_codec.h"
#include "robusta/error.h"

namespace robusta {
namespace {

constexpr size_t kBmpStart = 14;  // of the header that says how the pixels lie; before it, that of the file
constexpr char kNewBmp[] = "remove it, or give the image anew";
constexpr char kConvertBmp[] = "convert it to PNG";

[[noreturn]] void refuse_bmp(const std::string& what) {
  throw Error(ErrorKind::kData, "the BMP image is damaged: " + what, kNewBmp);
}

class BmpFile {
 public:
  explicit BmpFile(std::string_view file) : file_(file) {
    const uint64_t header = number(kBmpStart, 4);
    constexpr uint64_t kCore = 12, kInfo = 40, kLargest = 1024;
    if (header != kCore && (header < kInfo || header > kLargest))
      refuse_bmp(str("its second header says that it has ", header, " bytes"));
    const bool core = header == kCore;
    read_sizes(core);
    check_image_size(static_cast<uint64_t>(width_), static_cast<uint64_t>(height_));
    bits_ = static_cast<int>(number(kBmpStart + (core ? 10 : 14), 2));
    const uint64_t compression = core ? 0 : number(kBmpStart + 16, 4);
    check_storage(header, compression);
    row_bytes_ = (static_cast<uint64_t>(width_) * static_cast<uint64_t>(bits_) + 31) / 32 * 4;
    pixels_ = number(10, 4);
    if (bits_ <= 8) read_palette(kBmpStart + header, core);
    const uint64_t all = row_bytes_ * static_cast<uint64_t>(height_);
    if (pixels_ > file_.size() || file_.size() - pixels_ < all) refuse_bmp("the file is cut off");
  }

  Extent extent(ColorMode mode) const {
    const int64_t stored = bits_ <= 8 && grey_palette_ ? 1 : has_alpha_ ? 4 : 3;
    return {mode == ColorMode::kColor ? 3 : mode == ColorMode::kGray ? 1 : stored, height_, width_};
  }

  void read(ColorMode mode, Image& image) const {
    image.reset(extent(mode));
    image.scratch.resize(static_cast<size_t>(4 * width_));
    for (int64_t y = 0; y < height_; ++y) {
      const int64_t stored = bottom_up_ ? height_ - 1 - y : y;
      const auto* in =
          reinterpret_cast<const uint8_t*>(file_.data()) + pixels_ + row_bytes_ * static_cast<uint64_t>(stored);
      uint8_t* row = image.scratch.data();
      bits_ <= 8 ? look_up(in, image.extent.channels, row) : copy_pixels(in, image.extent.channels == 4, row);
      if (image.extent.channels == 1 && bits_ > 8) bgr_to_gray(row, width_);
      to_planes(row, y, image);
    }
  }

 private:
  using Color = std::array<uint8_t, 3>;

  /// Little-endian.
  uint64_t number(uint64_t at, int bytes) const {
    if (at > file_.size() || file_.size() - at < static_cast<uint64_t>(bytes)) refuse_bmp("the file is cut off");
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; --i)
      value = value << 8 | static_cast<uint8_t>(file_[static_cast<size_t>(at) + static_cast<size_t>(i)]);
    return value;
  }

  /// A negative height says that the first row is the topmost.
  void read_sizes(bool core) {
    if (core) {
      width_ = static_cast<int64_t>(number(kBmpStart + 4, 2));
      height_ = static_cast<int64_t>(number(kBmpStart + 6, 2));
      return;
    }
    width_ = static_cast<int32_t>(number(kBmpStart + 4, 4));
    height_ = static_cast<int32_t>(number(kBmpStart + 8, 4));
    if (width_ < 0) refuse_bmp(str("its width is ", width_));
    bottom_up_ = height_ >= 0;
    height_ = std::abs(height_);
  }

  /// Masks (compression 3) are let pass where they say what is usual.
  void check_storage(uint64_t header, uint64_t compression) {
    constexpr uint64_t kPlain = 0, kMasks = 3, kWithAlpha = 56;
    constexpr std::array<uint64_t, 3> kUsual{0xff0000, 0xff00, 0xff};
    if (compression == kMasks && bits_ == 32) {
      for (size_t i = 0; i < kUsual.size(); ++i) {
        if (number(kBmpStart + 40 + 4 * i, 4) != kUsual[i])
          throw Error(ErrorKind::kUnsupported, "it is a BMP image whose colours lie in an unusual way", kConvertBmp);
      }
      has_alpha_ = header >= kWithAlpha && number(kBmpStart + 52, 4) == 0xff000000u;
      return;
    }
    if (compression != kPlain)
      throw Error(ErrorKind::kUnsupported, str("it is a BMP image with compression ", compression), kConvertBmp);
    if (bits_ == 1 || bits_ == 4 || bits_ == 8 || bits_ == 24 || bits_ == 32) return;
    if (bits_ == 2 || bits_ == 16)
      throw Error(ErrorKind::kUnsupported, str("it is a BMP image with ", bits_, " bits per pixel"), kConvertBmp);
    refuse_bmp(str("it says that a pixel has ", bits_, " bits"));
  }

  void read_palette(uint64_t at, bool core) {
    const uint64_t most = uint64_t{1} << bits_, entry = core ? 3 : 4;
    const uint64_t said = core ? 0 : number(kBmpStart + 32, 4);
    if (said > most) refuse_bmp(str("its palette has ", said, " colours"));
    colors_ = static_cast<int>(said == 0 ? most : said);
    for (int i = 0; i < colors_; ++i) {
      Color& color = palette_[static_cast<size_t>(i)];
      for (size_t c = 0; c < color.size(); ++c)
        color[c] = static_cast<uint8_t>(number(at + entry * static_cast<uint64_t>(i) + c, 1));
      if (color[0] != color[1] || color[1] != color[2]) grey_palette_ = false;
    }
    for (size_t i = 0; i < palette_.size(); ++i) {
      Color grey = palette_[i];
      bgr_to_gray(grey.data(), 1);
      greys_[i] = grey[0];
    }
  }

  void look_up(const uint8_t* in, int64_t channels, uint8_t* row) const {
    const int mask = (1 << bits_) - 1, per_byte = 8 / bits_;
    for (int64_t x = 0; x < width_; ++x) {
      const int shift = 8 - bits_ * (static_cast<int>(x % per_byte) + 1);
      const int index = in[x / per_byte] >> shift & mask;
      if (index >= colors_) refuse_bmp(str("a pixel has colour ", index, " of a palette of ", colors_));
      const auto at = static_cast<size_t>(index);
      if (channels == 1)
        row[x] = greys_[at];
      else
        std::copy_n(palette_[at].data(), 3, row + 3 * x);
    }
  }

  void copy_pixels(const uint8_t* in, bool with_alpha, uint8_t* row) const {
    const int64_t from = bits_ / 8, to = with_alpha ? 4 : 3;
    if (from == to)
      std::copy_n(in, width_ * to, row);
    else
      for (int64_t x = 0; x < width_; ++x) std::copy_n(in + from * x, to, row + to * x);
  }

  std::string_view file_;
  int64_t width_ = 0, height_ = 0;
  bool bottom_up_ = true, has_alpha_ = false, grey_palette_ = true;
  int bits_ = 0, colors_ = 0;
  uint64_t row_bytes_ = 0, pixels_ = 0;  // of a row; where they begin in the file
  std::array<Color, 256> palette_{};
  std::array<uint8_t, 256> greys_{};
};

}  // namespace

void decode_bmp(std::string_view file, ColorMode mode, Image& image) { BmpFile(file).read(mode, image); }

Extent bmp_extent(std::string_view file, ColorMode mode) { return BmpFile(file).extent(mode); }

}  // namespace robusta
