/// Intel's placeholders in names of files: `%#` is the rank, `%*` the number of ranks.
#pragma once

#include <string>

namespace robusta {

std::string with_rank(std::string name, int rank, int ranks);

}  // namespace robusta
