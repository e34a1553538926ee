/// What bringing an old net into the newest form has done, for whoever asked for it.
#pragma once

#include <string>
#include <vector>

namespace robusta {

/// What an upgrade did; empty when the net was in the newest form.
struct UpgradeNotes {
  std::vector<std::string> done;     ///< one line per step that changed something
  std::vector<std::string> dropped;  ///< settings that have no place in the newer form
  bool changed() const { return !done.empty(); }
};

}  // namespace robusta
