/// caffe.Blob: a net's blob, or a parameter of a layer, as scripts have it.
#pragma once

#include <memory>

#include "net_core.h"

namespace robusta::python {

/// Keeps the net. Its values and gradient are `place` and the same with `gradient`.
struct Blob {
  std::shared_ptr<NetCore> core;
  Place place;
};

void add_blob(pybind11::module_& module);

}  // namespace robusta::python
