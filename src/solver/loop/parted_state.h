/// The file of a solver state that all ranks write together, each its own parts of the histories (-shard): they need
/// not travel, and a parallel file system takes them by as many ways as there are ranks.
///
/// Rank 0 makes the unfinished file, with everything but histories and at its full size; each rank that sees this file
/// under its path writes where its elements belong, no two ranks the same bytes unless they are equal, and syncs; then
/// rank 0 gives it its name. Where any rank does not see it, as on disks of their own, nothing is left of it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "schema/array_message.h"
#include "solver/ranks/ranks.h"
#include "solver/update/updater.h"

namespace robusta {

/// What rank 0 knows of it.
struct PartedState {
  std::string path;
  std::optional<ArrayMessage> message;  ///< none: its format cannot be written so
};

/// False, and nothing is written, where ranks have no parts, not all see the file, or its format has another form.
/// `state` is called on rank 0. Collective. Throws Error{kOutput} on all ranks.
bool write_parted_state(Ranks& ranks, Updater& updater, const std::function<PartedState()>& state);

}  // namespace robusta
