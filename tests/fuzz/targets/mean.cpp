// Mean images.

#include "schema/mean_file.h"

#include "fuzz.h"

namespace robusta::fuzz {
namespace {

void read_mean(std::string_view input) { read_mean_file(file_of(input)); }

[[maybe_unused]] const bool registered_mean = register_target("mean", read_mean);

}  // namespace
}  // namespace robusta::fuzz
