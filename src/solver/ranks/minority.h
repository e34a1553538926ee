/// Who stands alone when ranks should agree.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace robusta {

/// "rank 3" or "ranks 3, 5 and 20 more": those whose value is not the most frequent one (of equals, the lowest rank's).
std::string minority(const std::vector<uint64_t>& values);

}  // namespace robusta
