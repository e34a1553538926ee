/// Class labels, which nets carry as floating-point numbers.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "base/str.h"
#include "layers/kit/kernel.h"
#include "robusta/error.h"

namespace robusta {

/// Throws Error{kConfig} unless there is one label for each position of `scores` outside of the class axis, which the
/// field `axis_field` of the prototxt names.
inline void check_label_count(const Shape& scores, int axis, const Shape& labels, const std::string& axis_field) {
  const int64_t positions = scores.count(0, axis) * scores.count(axis + 1);
  if (labels.count() == positions) return;
  throw Error(ErrorKind::kConfig,
              str("the scores (", scores.str(), ") have ", positions, " positions outside axis ", axis,
                  ", but there are ", labels.count(), " labels (", labels.str(), ")"),
              "give one label per position; " + axis_field + " names the class axis")
      .in_field("bottom");
}

/// The label as an integer: cut towards zero, as Caffe does. What is no number or does not fit: the smallest int.
/// constexpr: GPU kernels may call it, too.
template <typename T>
constexpr int to_label(T value) {
  const bool fits = value > T{-2147483648.0} && value < T{2147483648.0};
  return fits ? static_cast<int>(value) : std::numeric_limits<int>::min();
}

/// Throws the Error{kData} of a label that is not 0..classes-1.
template <typename T>
[[noreturn]] void throw_bad_label(T label, uint64_t sample, int64_t classes) {
  throw Error(ErrorKind::kData, str("label ", label, " at sample ", sample, " is out of range 0..", classes - 1),
              str("labels count from 0, and the scores have ", classes,
                  " classes: raise num_output of the layer that makes them, or correct the data"));
}

/// Throws it, naming label and sample, unless every label is 0..classes-1 or `ignored`. `per_sample` labels belong to
/// each sample.
template <typename T>
void check_labels(const T* labels, int64_t count, int64_t per_sample, int64_t classes, std::optional<int> ignored,
                  const Pass& pass) {
  for (int64_t i = 0; i < count; ++i) {
    const int label = to_label(labels[i]);
    if ((label >= 0 && label < classes) || label == ignored) continue;
    throw_bad_label(labels[i], pass.first_sample + static_cast<uint64_t>(i / per_sample), classes);
  }
}

}  // namespace robusta
