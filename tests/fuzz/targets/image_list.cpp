// Text files that list images with labels, maps or windows, or films.

#include "data/convert/image_set.h"
#include "data/film_list.h"
#include "data/image_files.h"
#include "data/image_pairs.h"
#include "data/window_file.h"

#include "fuzz.h"

namespace robusta::fuzz {
namespace {

void read_lists(std::string_view input) {
  const std::string path = file_of(input);
  reads([&] { read_image_list(path); });
  reads([&] { read_labelled_images(path); });
  for (const PixelLabels labels : {PixelLabels::kNone, PixelLabels::kOneForAll, PixelLabels::kMap}) {
    reads([&] { read_listed_pairs(path, labels); });
  }
  for (const bool many_labels : {false, true}) {
    reads([&] { FilmListReader(path, "", many_labels); });
  }
  for (const bool may_leave_image : {false, true}) {
    reads([&] { WindowReader(path, "", {.may_leave_image = may_leave_image}, false); });
  }
}

[[maybe_unused]] const bool registered_image_list = register_target("image_list", read_lists);

}  // namespace
}  // namespace robusta::fuzz
