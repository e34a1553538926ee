// The folders of this build, which CMake tells this file alone.

#include "support/places.h"

namespace robusta::test {

std::string source_dir() { return ROBUSTA_SOURCE_DIR; }
std::string tools_dir() { return ROBUSTA_TOOLS_DIR; }

}  // namespace robusta::test
