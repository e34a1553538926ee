/// Tells a solver file of several phases (phases.h) from one of a single solver.
#pragma once

#include <string>

namespace robusta {

bool has_phases(const std::string& text);

}  // namespace robusta
