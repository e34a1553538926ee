// Files that name labels, as convert_annoset has them.

#include "data/convert/annotation_files.h"

#include "fuzz.h"

namespace robusta::fuzz {
namespace {

void read_labels(std::string_view input) {
  const std::string path = file_of(input);
  for (const bool check : {false, true}) {
    reads([&] { read_label_map(path, check); });
  }
}

[[maybe_unused]] const bool registered_label_map = register_target("label_map", read_labels);

}  // namespace
}  // namespace robusta::fuzz
