// The version of the library, which a program compares with that of the headers it was compiled with.

#include "robusta/version.h"

namespace robusta {

const char* version() { return ROBUSTA_VERSION; }

}  // namespace robusta
