/// A net in the plain form that every Caffe takes: without what only training looks at, and with BatchNorm of three
/// arrays whose factor is 1.
#pragma once

#include "exchange/deploy/deploy_net.h"

namespace robusta::deploy {

/// Dropout and Split, which change nothing here, go; consumers read what those read. Throws Error{kUnsupported} for a
/// Dropout that draws in testing, too.
void remove_identities(DeployNet& net);

/// Takes away parameters' rates and names, fillers, loss weights, rules, phases and engines.
void remove_training_fields(DeployNet& net);

/// BatchNorm by stored statistics alone, [mean, variance, 1]; the scale and shift that forks keep inside become a Scale
/// layer behind it, and the BN layers of forks BatchNorm and Scale. Throws Error{kUnsupported} for a layer that
/// normalises by the batch in testing.
void normalise_batch_norms(DeployNet& net);

}  // namespace robusta::deploy
