// Databases of LMDB: the input is data.mdb.

#include "data/lmdb/lmdb_reader.h"

#include <algorithm>
#include <filesystem>

#include "fuzz.h"

namespace robusta::fuzz {
namespace {

void read_database(std::string_view input) {
  const std::string folder = std::filesystem::path(file_of(input, "lmdb/data.mdb")).parent_path();
  const auto reader = LmdbReader::open(folder);
  std::string storage;
  for (int64_t i = 0; i < std::min<int64_t>(reader->size(), 100); ++i) {
    reads([&] { reader->record(i, storage); });
    reads([&] { reader->key(i); });
  }
}

[[maybe_unused]] const bool registered_lmdb = register_target("lmdb", read_database);

}  // namespace
}  // namespace robusta::fuzz
