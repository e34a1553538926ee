/// Convolutions that every kernel is tried with.
#pragma once

#include <string>
#include <vector>

#include "support/kernel_harness.h"

namespace robusta::test {

inline std::string convolution_text(const std::string& fields) {
  return "type: 'Convolution' convolution_param { " + fields + " }";
}

inline KernelCase convolution(const std::string& fields, std::vector<Shape> bottoms = {{2, 4, 6, 5}},
                              const std::string& type = "Convolution") {
  const int tops = static_cast<int>(bottoms.size());
  return {{"type: '" + type + "' convolution_param { " + fields + " }"}, bottoms, caffe::TRAIN, tops};
}

/// Small ones that meet every field of convolution_param.
inline std::vector<KernelCase> convolution_cases() {
  return {
      convolution("num_output: 3 kernel_size: 3"),
      convolution("num_output: 3 kernel_size: 1"),
      convolution("num_output: 3 kernel_size: 1 bias_term: false"),
      convolution("num_output: 3 kernel_size: 1 stride: 2"),
      convolution("num_output: 6 kernel_size: 3 pad: 1 group: 2"),
      convolution("num_output: 4 kernel_size: 3 pad: 1 group: 4 stride: 2"),
      convolution("num_output: 3 kernel_size: 2 dilation: 3 pad: 2"),
      convolution("num_output: 3 kernel_h: 1 kernel_w: 4 stride_h: 3 stride_w: 1 pad_h: 0 pad_w: 2"),
      convolution("num_output: 2 kernel_size: 3 pad: 7 stride: 4"),
      convolution("num_output: 2 kernel_size: 3 pad_t: 1 pad_r: 2 stride: 2"),
      convolution("num_output: 2 kernel_h: 2 kernel_w: 3 pad_b: 3 pad_l: 1 pad_r: 1 dilation: 2"),
      convolution("num_output: 3 kernel_size: 3 pad: 1", {{2, 2, 4, 4}, {2, 2, 4, 4}}),
      convolution("num_output: 3 kernel_size: 3", {{2, 2, 8}}),
      convolution("num_output: 2 kernel_size: 2 kernel_size: 3 kernel_size: 2 pad: 1 pad: 0 pad: 2 stride: 2 group: 2",
                  {{1, 2, 3, 5, 4}}),
      convolution("num_output: 2 kernel_size: 2 pad: 1", {{1, 2, 2, 3, 2, 3}}),
      convolution("num_output: 3", {{4, 5}}),
      convolution("num_output: 3 kernel_size: 3 axis: 2", {{2, 2, 2, 4, 4}}),
      convolution("num_output: 3 kernel_size: 3 axis: 0", {{2, 4, 4}}),
  };
}

/// Larger ones, whose channels, groups and borders meet blocks of channels in different ways.
inline std::vector<KernelCase> blocked_convolution_cases() {
  return {
      {{convolution_text("num_output: 20 kernel_size: 5")}, {{4, 1, 12, 12}}},
      {{convolution_text("num_output: 50 kernel_size: 5")}, {{2, 20, 12, 12}}},
      {{convolution_text("num_output: 24 kernel_size: 3 pad: 1 bias_term: false")}, {{2, 3, 9, 7}}},
      {{convolution_text("num_output: 32 kernel_size: 1")}, {{3, 16, 5, 5}}},
      {{convolution_text("num_output: 64 kernel_size: 1 stride: 2 bias_term: false")}, {{2, 32, 8, 8}}},
      {{convolution_text("num_output: 48 kernel_size: 3 stride: 2 pad: 1")}, {{2, 32, 11, 13}}},
      {{convolution_text("num_output: 32 kernel_h: 1 kernel_w: 5 pad_h: 0 pad_w: 2")}, {{2, 16, 6, 9}}},
      {{convolution_text("num_output: 16 kernel_size: 3 dilation: 2 pad: 2")}, {{2, 16, 9, 9}}},
      {{convolution_text("num_output: 32 kernel_size: 3 stride: 2 pad_b: 1 pad_r: 1")}, {{2, 16, 10, 12}}},
      {{convolution_text("num_output: 32 kernel_size: 3 pad_t: 2 pad_l: 1 pad_r: 2")}, {{2, 16, 9, 11}}},
      {{convolution_text("num_output: 16 kernel_size: 5 pad_t: 1 pad_b: 4 pad_r: 3")}, {{2, 32, 8, 7}}},
      {{convolution_text("num_output: 32 kernel_size: 3 pad_b: 4")}, {{2, 16, 6, 6}}},
      {{convolution_text("num_output: 64 kernel_size: 5 pad: 2 group: 2")}, {{2, 32, 7, 7}}},
      {{convolution_text("num_output: 12 kernel_size: 3 group: 3")}, {{2, 6, 7, 7}}},
      {{convolution_text("num_output: 32 kernel_size: 3 pad: 1 group: 32 bias_term: false")}, {{2, 32, 8, 8}}},
      {{convolution_text("num_output: 17 kernel_size: 3 pad: 1")}, {{1, 50, 6, 5}}},
      {{convolution_text("num_output: 96 kernel_size: 11 stride: 4")}, {{2, 3, 35, 35}}},
      {{convolution_text("num_output: 10 kernel_size: 1")}, {{2, 40, 1, 1}}},
      {{convolution_text("num_output: 16 kernel_size: 3 pad: 1")}, {{2, 16, 9}}},
      {{convolution_text("num_output: 16 kernel_size: 3 pad: 1")}, {{1, 16, 4, 5, 6}}},
  };
}

}  // namespace robusta::test
