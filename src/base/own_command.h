/// How this process was started, for whoever wants to do it again.
#pragma once

#include <string>

namespace robusta {

/// Its words as a shell would read them; "" where the system does not tell.
std::string own_command();

/// The folder that it works in; "" where it is gone.
std::string own_directory();

}  // namespace robusta
