/// The version of the headers, for the preprocessor, and that of the library, which runs.
#pragma once

#include "robusta/export.h"

#define ROBUSTA_VERSION "0.1.0"
#define ROBUSTA_VERSION_MAJOR 0
#define ROBUSTA_VERSION_MINOR 1
#define ROBUSTA_VERSION_PATCH 0

namespace robusta {

/// ROBUSTA_VERSION of the library. Its interface fits programs whose major and minor numbers are the same.
ROBUSTA_API const char* version();

}  // namespace robusta
