/// What layers, versions of blobs and parameters are called within one net.
#pragma once

#include "base/id.h"

namespace robusta {

/// A layer, by its place in the net's definition.
using NodeId = Id<struct NodeTag>;
/// One version of a blob.
using VersionId = Id<struct VersionTag>;
/// A parameter, by its place among all that layers own or are lent, in their order. Sharers of a name have one.
using ParamId = Id<struct ParamTag>;

}  // namespace robusta
