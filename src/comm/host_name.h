/// The name of this machine, as `hostname` prints it: what rank files and host files have to say.
#pragma once

#include <string>

namespace robusta {

std::string host_name();

}  // namespace robusta
