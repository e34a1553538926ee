/// Initial values of parameters and of DummyData.
///
/// The types are those of Caffe and its forks: constant, uniform, gaussian, positive_unitball, xavier, msra, bilinear.
/// NVIDIA's names with "static" behind mean the same here: every fill from the same stream gives the same numbers.
#pragma once

#include <string>
#include <vector>

#include "base/philox.h"
#include "caffe.pb.h"
#include "tensor/tensor.h"

namespace robusta {

/// Throws Error{kConfig} for an unknown type, a bad value, or a shape that the type does not take. `path` is the place
/// of the filler in its layer ("scale_param.filler"), "" when it is not known. Cheap: draws nothing.
void check_filler(const caffe::FillerParameter& filler, const Shape& shape, const std::string& path = "");

/// Writes shape.count() elements of `dtype` to `data`. The numbers drawn are the same for both types of element, but
/// for rounding. Throws what check_filler throws.
void fill(const caffe::FillerParameter& filler, const Shape& shape, PhiloxStream& random, DType dtype, void* data);

/// All known types.
const std::vector<std::string>& filler_types();

}  // namespace robusta
