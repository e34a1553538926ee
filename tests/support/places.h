/// Where the tests find what they use. Functions, and not macros, so that compiled tests do not depend on the folder.
#pragma once

#include <string>

namespace robusta::test {

std::string source_dir();  ///< the project's root
std::string tools_dir();   ///< the programs of this build

}  // namespace robusta::test
