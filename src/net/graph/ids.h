/// What layers and versions of blobs are called within one net.
#pragma once

#include "base/id.h"

namespace robusta {

/// A layer, by its place in the net's definition.
using NodeId = Id<struct NodeTag>;
/// One version of a blob.
using VersionId = Id<struct VersionTag>;

}  // namespace robusta
