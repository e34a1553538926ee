// Image files, as pictures and as maps of labels.

#include "data/image.h"

#include "data/label_map.h"
#include "fuzz.h"

namespace robusta::fuzz {
namespace {

/// The image again, where a third of it is enough.
void read_part(std::string_view input, ColorMode mode, const Extent& told) {
  const Extent wanted{told.channels, (told.height + 2) / 3, (told.width + 2) / 3};
  Image part;
  if (!reads(
          [&] { decode_image(input, mode, {.size = [&](const Extent&) { return wanted; }, .part = nullptr}, part); }))
    return;
  const bool large_enough = part.extent.height >= wanted.height && part.extent.width >= wanted.width;
  if (!large_enough || part.pixels().image() != told) throw std::logic_error("a part of an image is too small");
}

/// The image again, where only the middle of it is looked at.
void read_middle(std::string_view input, ColorMode mode, const Extent& told) {
  const auto middle = [](const Extent& whole, const Extent&) {
    return PixelRect{whole.height / 4, whole.width / 4, (whole.height + 1) / 2, (whole.width + 1) / 2};
  };
  Image image;
  if (!reads([&] { decode_image(input, mode, {.size = nullptr, .part = middle}, image); })) return;
  if (image.extent != told) throw std::logic_error("an image of which a part is read has another size");
}

void read_image(std::string_view input) {
  for (const ColorMode mode : {ColorMode::kAsStored, ColorMode::kGray, ColorMode::kColor}) {
    Extent told;
    // Pixels of larger ones take more memory than the targets have.
    const auto is_small = [&] { return told.height * told.width <= int64_t{1} << 22; };
    if (!reads([&] { told = image_extent(input, mode); }) || !is_small()) continue;
    Image image;
    if (!reads([&] { decode_image(input, mode, image); })) continue;
    const bool same = image.extent.channels == told.channels && image.extent.height == told.height &&
                      image.extent.width == told.width;
    if (!same) throw std::logic_error("the header says another size than the pixels have");
    read_part(input, mode, told);
    read_middle(input, mode, told);
  }
  Extent told;
  if (!reads([&] { told = image_extent(input, ColorMode::kAsStored); }) || told.height * told.width > 1 << 22) return;
  Image map;
  reads([&] { decode_label_map(input, map); });
}

[[maybe_unused]] const bool registered_image = register_target("image", read_image);

}  // namespace
}  // namespace robusta::fuzz
