// The options of -ddl, and their grid over several numbers of ranks.

#include "comm/ddl_options.h"

#include "fuzz.h"

namespace robusta::fuzz {
namespace {

void read_ddl_options(std::string_view input) {
  const DdlOptions options = parse_ddl_options(std::string(input));
  if (options.dims.empty()) return;
  for (const int ranks : {1, 2, 8, 12}) {
    reads([&] { check_dims(options, ranks); });
  }
}

[[maybe_unused]] const bool registered_ddl = register_target("ddl", read_ddl_options);

}  // namespace
}  // namespace robusta::fuzz
