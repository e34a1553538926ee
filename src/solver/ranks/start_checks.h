/// What has to be the same on all ranks, compared when a job starts: ranks that differ here would train, and train
/// something else than was asked for. All of these are collective, do nothing alone, and throw Error{kCommunication} on
/// all ranks, naming those that differ from most.
#pragma once

#include "net/net.h"
#include "schema/source.h"
#include "solver/ranks/ranks.h"

namespace robusta {

/// The program's version, the solver and the nets it names, byte for byte in their canonical text.
void check_same_program(Ranks& ranks, const SolverDef& def);

/// The program's version and the net of `file`, as it is built.
void check_same_net(Ranks& ranks, const std::string& file, const NetDef& net);

/// Names and values, in the same order on all ranks.
void check_same_flags(Ranks& ranks, const std::vector<std::pair<std::string, std::string>>& flags);

/// Number of records and first keys of every data source, but for those that are one per rank.
void check_same_data(Ranks& ranks, const Net& net);

}  // namespace robusta
