// HDF5 files, as data, as models and as states. libhdf5 itself is not proof against every byte (docs/security.md).

#include <algorithm>

#include "data/hdf5_access.h"
#include "fuzz.h"
#include "solver/files/model_format.h"

namespace robusta::fuzz {
namespace {

void read_rows(const std::string& path) {
  const auto rows = hdf5_access().open(path, {"data", "label"});
  const int64_t floats = rows->items()[0].count() + rows->items()[1].count();
  if (floats > 1 << 20) return;
  std::vector<float> numbers(static_cast<size_t>(floats));
  for (int64_t i = 0; i < std::min<int64_t>(rows->rows(), 8); ++i) rows->read(i, numbers.data());
}

void read_hdf5(std::string_view input) {
  const std::string path = file_of(input);
  reads([&] { read_rows(path); });
  const ModelFormat& format = format_of_file(path);
  reads([&] { format.read_model(path); });
  reads([&] { format.read_state(path); });
}

[[maybe_unused]] const bool registered_hdf5 = register_target("hdf5", read_hdf5);

}  // namespace
}  // namespace robusta::fuzz
