/// Forks of Caffe that mean different things by one name, and which of them is meant.
///
/// Mostly the fields of a layer tell. Where they do not, the dialect of the process says it (`caffe -dialect NAME`),
/// and without one the fork that is met most. The log says what was taken: once for each type, when a net is read.
#pragma once

#include <string>
#include <vector>

#include "schema/source.h"

namespace robusta {

enum class Dialect { kNone, kBvlc, kIntel, kNvidia, kSsd, kSegNet, kPspNet, kWindows };

/// The names that dialect_named knows.
std::vector<std::string> dialect_names();

/// "" is kNone. Throws Error{kUsage} for an unknown name.
Dialect dialect_named(const std::string& name);

/// That of the process, kNone at first. Set before nets are read; any thread may look at it.
void set_dialect(Dialect dialect);
Dialect dialect();

/// Gives layers whose fields do not tell whose they are a field that does, if the dialect is that of one of the forks
/// in question, and logs what was taken.
void settle_dialect(NetDef* net);

/// The same for a solver: NVIDIA's test_initialization is false where it is not given.
void settle_dialect(caffe::SolverParameter* solver);

}  // namespace robusta
