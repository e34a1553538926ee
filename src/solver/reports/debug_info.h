/// debug_info: the mean absolute value of everything in a net, layer by layer, as Caffe prints it.
#pragma once

#include "net/net.h"

namespace robusta {

/// From now on (until switched off) every layer's forward and backward logs its values. REQUIRES: keep_blobs.
void set_debug_info(Net& net, bool on);

/// L1 and L2 norms of all parameters and their gradients.
void log_param_norms(Net& net);

}  // namespace robusta
