/// The update that an iteration has left to the next one, where that goes wrong before it has come to it.
#pragma once

#include "base/log.h"
#include "solver/update/updater.h"

namespace robusta {

/// Runs the work, whose result it returns; when it throws, what was postponed is updated first. What goes wrong there,
/// for the same cause perhaps, is not to hide that.
template <typename Work>
auto completing_last_update(Updater& updater, const Work& work) {
  try {
    return work();
  } catch (...) {
    try {
      updater.finish_postponed();
    } catch (const std::exception& error) {
      LOG_ERROR << "the update of the last iteration failed, too: " << error.what();
    }
    throw;
  }
}

}  // namespace robusta
