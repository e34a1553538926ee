/// Windows of Pooling with a number for each axis in the form of naibaf7/caffe.
#pragma once

#include <string>

namespace robusta {

/// The text of a net in which kernel_size, stride and pad of a pooling_param are called kernel_size_3d, stride_3d and
/// pad_3d where one of them is given more than once, or as a list: naibaf7's schema has them repeated (src/caffe/proto/
/// caffe.proto), and everybody else's once, with Intel's lists beside them. Programs set them as single fields, so that
/// the schema cannot have them otherwise. Lines stay where they are.
std::string name_repeated_windows(std::string text);

}  // namespace robusta
