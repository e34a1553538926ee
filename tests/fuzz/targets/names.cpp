// Small text files that SSD's scripts make: names with labels, names with numbers.

#include <filesystem>

#include "data/convert/name_files.h"
#include "fuzz.h"

namespace robusta::fuzz {
namespace {

void read_names(std::string_view input) {
  const std::string path = file_of(input);
  const std::string made = (std::filesystem::path(path).parent_path() / "made").string();
  for (const bool background : {false, true}) {
    for (const char delimiter : {' ', ','}) reads([&] { create_label_map(path, made, delimiter, background); });
  }
  const std::string none = file_of("", "none");
  reads([&] { write_image_sizes("", none, made, path); });
  reads([&] { write_image_sizes("", path, made, ""); });
}

[[maybe_unused]] const bool registered_names = register_target("names", read_names);

}  // namespace
}  // namespace robusta::fuzz
