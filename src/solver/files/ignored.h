/// Warnings of fields that are read and change nothing: once per field and file, when a command or a solver begins.
#pragma once

#include <string>
#include <vector>

#include "schema/phases.h"
#include "schema/source.h"

namespace robusta {

/// Of the phases of a solver's file, of the train net and, where it is trained, of the test nets. What cannot be read
/// is passed over: whoever needs it says so.
void warn_of_ignored_fields(const std::vector<SolverPhase>& phases, bool trained);
void warn_of_ignored_fields(const SolverDef& solver, bool trained);

/// Of a net, as it is written in its file.
void warn_of_ignored_fields_in(const std::string& net_file);

}  // namespace robusta
