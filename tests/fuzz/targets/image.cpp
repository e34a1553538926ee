// Image files, as pictures and as maps of labels.

#include "data/image.h"

#include "data/label_map.h"
#include "fuzz.h"

namespace robusta::fuzz {
namespace {

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
  }
  Extent told;
  if (!reads([&] { told = image_extent(input, ColorMode::kAsStored); }) || told.height * told.width > 1 << 22) return;
  Image map;
  reads([&] { decode_label_map(input, map); });
}

[[maybe_unused]] const bool registered_image = register_target("image", read_image);

}  // namespace
}  // namespace robusta::fuzz
