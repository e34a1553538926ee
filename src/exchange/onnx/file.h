/// Model files of ONNX, and the elements of their tensors.
///
/// A file is one ModelProto of at most 2 GiB. Its tensors may lie in files beside it (external data): these are read,
/// from the model's own folder alone, and never written. Whatever the bytes are, what comes back is a model, or an
/// Error{kModel} that names the file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "onnx.pb.h"
#include "tensor/shape.h"

namespace robusta {

/// Throws Error{kModel} at the path: absent, cut, or no model of ONNX; what a graph means is not looked at.
onnx::ModelProto read_onnx_file(const std::string& path);

/// Whole or not at all. Throws Error{kOutput}, also for a model of 2 GiB and more.
void write_onnx_file(const std::string& path, const onnx::ModelProto& model);

/// The extents of a tensor; none: a scalar. Throws Error{kModel} for negative ones, and for more than 2^40 elements.
Shape tensor_shape(const onnx::TensorProto& tensor);

/// The elements of a tensor of any number type, as floats; true is 1. `model_path`: of the file it comes from, beside
/// which external data lie. Throws Error{kModel} where there are not as many as the shape says, where external data are
/// absent or outside of the model's folder; Error{kUnsupported} for strings and complex numbers.
std::vector<float> tensor_values(const onnx::TensorProto& tensor, const std::string& model_path);

/// The same for whole numbers: shapes, axes and indices. Throws Error{kModel} for a tensor of fractions.
std::vector<int64_t> tensor_integers(const onnx::TensorProto& tensor, const std::string& model_path);

/// Tensors with their elements in raw_data.
onnx::TensorProto float_tensor(const std::string& name, const Shape& shape, const std::vector<float>& values);
onnx::TensorProto integer_tensor(const std::string& name, const Shape& shape, const std::vector<int64_t>& values);

}  // namespace robusta
