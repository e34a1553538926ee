/// Which nets a solver trains and tests, and in which state (phase, level, stages) each is built.
#pragma once

#include <string>
#include <vector>

#include "schema/source.h"

namespace robusta {

/// A net as it was read, and the state it is for.
struct NetSource {
  NetDef net;
  caffe::Phase phase;     ///< TRAIN or TEST, to begin with
  caffe::NetState extra;  ///< of the solver; merged after the net's own
  std::string origin;     ///< for the log: "net file: lenet.prototxt"

  /// The net filtered for its state, with splits: ready to be built.
  NetDef definition() const;
};

/// The net that is named by exactly one of net, net_param, train_net, train_net_param, in the state {TRAIN}, then the
/// net's own state, then train_state. Throws Error{kConfig} when none or more than one is named.
NetSource train_net_of(const SolverDef& solver);

/// The test nets in Caffe's order: each test_net_param, each test_net, then net_param or net for every test_iter that
/// is left. Throws Error{kConfig} unless test_iter, test_state and test_interval fit them.
std::vector<NetSource> test_nets_of(const SolverDef& solver);

/// A net by itself (test, time), in this phase, level and stages.
NetDef net_in_state(const std::string& path, caffe::Phase phase, int level, const std::vector<std::string>& stages);

struct NetInPhase {
  NetDef net;
  caffe::Phase phase;
};

/// A net by itself in the TRAIN phase, or, where it is whole in the TEST phase alone, in that, which the log says: nets
/// that are published for testing have data for that phase and no other.
NetInPhase net_in_its_phase(const std::string& path, int level, const std::vector<std::string>& stages);

}  // namespace robusta
