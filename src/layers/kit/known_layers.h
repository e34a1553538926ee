/// Whether a layer can be made at all, asked before any is.
#pragma once

#include <vector>

#include "caffe.pb.h"
#include "robusta/error.h"

namespace robusta {

/// An Error for each thing that the layer wants in vain, naming the field: kUnsupported for a type or a field that some
/// Caffe knows and this build does not have, kConfig for a type that nobody knows, with the nearest one.
std::vector<Error> missing_in(const caffe::LayerParameter& param);

}  // namespace robusta
