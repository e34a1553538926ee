/// Which layers of a net exist in a given state: phase, level and stages.
#pragma once

#include <string>

#include "schema/source.h"

namespace robusta {

/// Whether every part that `rule` gives holds in `state`. Otherwise `*why_not` (may be null) says which one does not,
/// to be read after "The NetState ".
bool state_meets_rule(const caffe::NetState& state, const caffe::NetStateRule& rule, std::string* why_not = nullptr);

/// Why a layer is not in a net of this state, as Caffe logs it: "The NetState phase (0) differed from the phase (1)
/// specified by a rule in layer data". "" when it is in.
std::string why_left_out(const caffe::LayerParameter& layer, const caffe::NetState& state);

/// The net in this state: a layer without `include` is in unless an `exclude` rule holds, one with `include` is in when
/// any of these holds. The result's `state` is `state`; each layer left out is logged in one line.
/// Throws Error{kConfig} when a layer has rules of both kinds.
NetDef filter_net(const NetDef& net, const caffe::NetState& state);

}  // namespace robusta
