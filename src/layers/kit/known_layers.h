/// Whether a layer can be made at all, asked before any is.
#pragma once

#include <string>
#include <vector>

#include "caffe.pb.h"
#include "robusta/error.h"

namespace robusta {

/// Looks at what a layer needs from outside of this program. Throws Error for what is absent.
using LayerLook = void (*)(const caffe::LayerParameter& param);

/// Has missing_in look at layers of this type so, too. False when somebody looks at them already.
bool register_look(const std::string& type, LayerLook look);

/// An Error for each thing that the layer wants in vain, naming the field: kUnsupported for a type or a field that some
/// Caffe knows and this build does not have, kConfig for a type that nobody knows, with the nearest one; and what a
/// look has thrown.
std::vector<Error> missing_in(const caffe::LayerParameter& param);

}  // namespace robusta
