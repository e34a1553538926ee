/// Whether a layer can be made at all, asked before any is.
#pragma once

#include "caffe.pb.h"

namespace robusta {

/// Throws Error, naming the field: kUnsupported for a type or a field that some Caffe knows and this build does not
/// have, kConfig for a type that nobody knows, with the nearest one.
void require_known(const caffe::LayerParameter& param);

}  // namespace robusta
