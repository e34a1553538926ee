// Groups of a Deconvolution, which readers transpose as if there were one.

#include <algorithm>

#include "base/str.h"
#include "exchange/deploy/rule_checks.h"
#include "exchange/deploy/rule_forms.h"

namespace robusta::deploy {
namespace {

constexpr int64_t kMostNumbers = int64_t{1} << 26;  // of weights with zeros between the groups

/// Weights of one group: each channel of the bottom has zeros for the tops of other groups.
BlobData in_one_group(const BlobData& weights, int64_t groups) {
  BlobData whole{.shape = weights.shape, .legacy_dims = false, .data = {}};
  whole.shape[1] *= groups;
  const int64_t channels = weights.shape[0], block = static_cast<int64_t>(weights.data.size()) / channels;
  whole.data.resize(static_cast<size_t>(channels * groups * block));
  for (int64_t c = 0; c < channels; ++c) {
    const int64_t group = c / (channels / groups);
    std::copy_n(weights.data.begin() + c * block, block, whole.data.begin() + (c * groups + group) * block);
  }
  return whole;
}

}  // namespace

std::optional<Finding> check_one_group(const DeployNet& net, int layer) {
  if (net.param(layer).type() != "Deconvolution" || is_no_image(net, layer) ||
      is_over_other_than_channels(net, layer) || !has_groups_of_several(net, layer)) {
    return std::nullopt;
  }
  return Finding{"groups of several channels are mixed up", "convolution_param.group"};
}

void mend_one_group(DeployNet& net, int layer) {
  caffe::ConvolutionParameter* p = net.param(layer).mutable_convolution_param();
  for (BlobData& weights : net.at(layer).arrays) {
    if (weights.shape.size() != 4) continue;
    if (static_cast<int64_t>(weights.data.size()) > kMostNumbers / p->group()) {
      throw Error(ErrorKind::kUnsupported, str("weights in one group in place of ", p->group(), " would be too many"),
                  "part the layer by yourself")
          .in_field("convolution_param.group");
    }
    weights = in_one_group(weights, p->group());
  }
  p->clear_group();
  net.change();
}

}  // namespace robusta::deploy
