/// Files of MATLAB, level 5 (MathWorks, "MAT-File Format", R2023a, chapter 1), with one array of floats or doubles.
///
/// Nothing is compressed. MATLAB's first axis is the one whose elements lie together: a blob of n x c x h x w elements
/// is an array of w x h x c x n, as DeepLab's Caffe writes it by matio.
#pragma once

#include <string>

#include "tensor/tensor.h"

namespace robusta {

/// Writes the plain `tensor`, of f32 or f64 in memory of the host, as the variable `name`. The file is there whole or
/// not at all. Throws Error{kOutput} at the path.
void write_mat_file(const std::string& path, const std::string& name, const Tensor& tensor);

}  // namespace robusta
