/// Choices of earlier runs on the same hosts, in a file of lines "key choice".
///
/// Rank 0 reads and writes it; all ranks hold the same. It is only a cache: what cannot be read or written is ignored.
#pragma once

#include <map>
#include <string>

#include "comm/topology.h"

namespace robusta {

class ChoiceCache {
 public:
  /// Collective. Keys are about this topology: its hosts, which ranks they run, and its dims.
  ChoiceCache(Communicator& world, const Topology& topology, std::string file);

  /// "" when there is none.
  std::string find(const std::string& key) const;
  void remember(const std::string& key, const std::string& choice);
  /// Rank 0 adds what is new to the file.
  void save();

 private:
  std::string full_key(const std::string& key) const { return prefix_ + "/" + key; }

  std::string file_, prefix_;    ///< prefix_: of the keys of these hosts and dimensions
  bool writes_, dirty_ = false;  ///< rank 0 with a file; something is new
  std::map<std::string, std::string> choices_;
};

/// $XDG_CACHE_HOME/robusta/all_reduce or ~/.cache/robusta/all_reduce; "" when neither variable is set.
std::string default_choice_cache();

}  // namespace robusta
