// Without padding a result sees a pixel of the image, always.

#include "layers/backends/pointwise/pointwise_geometry.h"

#include <algorithm>

#include "layers/backends/onednn/layout.h"

namespace robusta::pointwise {

bool is_pointwise_in_blocks(const onednn::ConvolutionProblem& problem, int lanes) {
  const ConvolutionGeometry& g = problem.geometry;
  if (lanes == 0 || problem.type != DType::kF32 || g.group != 1 || g.axes.size() != 2) return false;
  const auto is_plain = [](const WindowAxis& axis) {
    return axis.kernel == 1 && axis.pad == 0 && axis.pad_behind() <= 0;
  };
  const auto block_of = [](const onednn::Desc& desc) { return onednn::channel_block(onednn::layout_of(desc)); };
  return std::ranges::all_of(g.axes, is_plain) && block_of(problem.src) == lanes && block_of(problem.dst) == lanes;
}

}  // namespace robusta::pointwise
