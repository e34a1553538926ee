/// Labels, before training: whether the classes that losses and accuracies compare have room for them. Collective;
/// throws on all ranks.
#pragma once

#include <string>

#include "solver/solver.h"

namespace robusta {

/// Looks at some hundred labels of each source, spread over its records, that a loss or an accuracy of a
/// train or test net reads. Throws Error{kData} naming the layer, the label with its record, and the layer whose
/// num_output is too small. Returns what there is.
std::string check_labels_fit(Ranks& ranks, Solver& solver);

}  // namespace robusta
