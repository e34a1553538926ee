/// Split layers: after them every blob has at most one consumer.
#pragma once

#include "schema/source.h"

namespace robusta {

/// Puts a Split layer behind each top that is used more than once, named as Caffe names it: layer `B_L_i_split` with
/// tops `B_L_i_split_k` for blob B, the last layer L that wrote it, top index i, use k. An explicit loss weight of a
/// top that is also consumed counts as use 0: it moves to the Split, and the layer's list of weights is cleared.
///
/// Throws Error{kConfig} for a bottom that nobody makes, one that is made only later (naming the cycle, if there is
/// one) and a top that already exists, unless layer and index make it in-place. REQUIRES: a filtered net.
NetDef insert_splits(const NetDef& net);

/// `whole` as it is in `state`: filtered, then with splits. A bottom that a layer outside of this state makes is an
/// error that names that layer and its rule.
NetDef net_in_state(const NetDef& whole, const caffe::NetState& state);

}  // namespace robusta
