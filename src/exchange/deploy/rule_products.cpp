// Layers whose numbers are rewritten: BatchNorm, InnerProduct, LRN, Eltwise.

#include <cmath>

#include "base/str.h"
#include "exchange/deploy/rule_checks.h"
#include "exchange/deploy/rule_layers.h"

namespace robusta::deploy {
namespace {

bool is_inner_product(const DeployNet& net, int layer) { return net.param(layer).type() == "InnerProduct"; }

/// Element (i, j) of a matrix of `rows` rows goes to (j, i).
std::vector<float> transposed(const std::vector<float>& matrix, size_t rows) {
  const size_t columns = matrix.size() / rows;
  std::vector<float> result(matrix.size());
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < columns; ++j) result[j * rows + i] = matrix[i * columns + j];
  }
  return result;
}

}  // namespace

std::optional<Finding> check_global_stats(const DeployNet& net, int layer) {
  if (net.param(layer).type() != "BatchNorm" || net.param(layer).batch_norm_param().use_global_stats()) {
    return std::nullopt;
  }
  return Finding{"BatchNorm does not say that it normalises by stored statistics", "batch_norm_param"};
}

void mend_global_stats(DeployNet& net, int layer) {
  caffe::BatchNormParameter* p = net.param(layer).mutable_batch_norm_param();
  if (p->has_use_global_stats()) {
    throw Error(ErrorKind::kUnsupported, "it normalises by the batch in testing, too", "remove use_global_stats: false")
        .in_field("batch_norm_param.use_global_stats");
  }
  p->set_use_global_stats(true);
  net.change();
}

std::optional<Finding> check_not_transposed(const DeployNet& net, int layer) {
  if (!is_inner_product(net, layer) || !net.param(layer).inner_product_param().transpose()) return std::nullopt;
  return Finding{"transposed weights are taken for others", "inner_product_param.transpose"};
}

void mend_not_transposed(DeployNet& net, int layer) {
  caffe::InnerProductParameter* p = net.param(layer).mutable_inner_product_param();
  p->clear_transpose();
  if (!net.at(layer).arrays.empty()) {
    BlobData& weights = net.at(layer).arrays[0];
    weights.data = transposed(weights.data, weights.data.size() / p->num_output());
    weights.shape = {p->num_output(), static_cast<int64_t>(weights.data.size()) / p->num_output()};
  }
  net.change();
}

std::optional<Finding> check_inner_axis(const DeployNet& net, int layer) {
  if (!is_inner_product(net, layer) || net.param(layer).inner_product_param().axis() == 1) return std::nullopt;
  return Finding{str("axis ", net.param(layer).inner_product_param().axis(), " is not understood"),
                 "inner_product_param.axis"};
}

void mend_inner_axis(DeployNet& net, int layer) {
  const LayerShapes shapes = net.shapes(layer);
  const Shape& bottom = shapes.bottoms[0];
  const int axis = net.param(layer).inner_product_param().axis();
  const int from = axis < 0 ? axis + bottom.axes() : axis;
  net.param(layer).mutable_inner_product_param()->clear_axis();
  net.change();
  if (from == 1) return;
  const int inner = net.put_before(layer, 0, reshape_layer({-1, bottom.count(from)}), "_rows");
  std::vector<int64_t> dims = shapes.tops[0].dims();
  dims[0] = -1;  // any number of samples
  net.append_behind(inner, reshape_layer(dims), "_axes");
}

std::optional<Finding> check_lrn_k(const DeployNet& net, int layer) {
  if (net.param(layer).type() != "LRN" || net.param(layer).lrn_param().k() == 1) return std::nullopt;
  return Finding{str("k ", net.param(layer).lrn_param().k(), " is taken for 1"), "lrn_param.k"};
}

/// x (k + a s)^-b = k^-b x (1 + a / k s)^-b. Within a channel Caffe takes 1 for k whatever it is.
void mend_lrn_k(DeployNet& net, int layer) {
  caffe::LRNParameter* p = net.param(layer).mutable_lrn_param();
  const double k = p->k();
  const bool across = p->norm_region() == caffe::LRNParameter::ACROSS_CHANNELS;
  if (across && !(k > 0)) {
    throw Error(ErrorKind::kUnsupported, str("k ", k, " cannot be taken out of the power"), "take a k above 0")
        .in_field("lrn_param.k");
  }
  p->clear_k();
  net.change();
  if (!across) return;
  const auto factor = static_cast<float>(std::pow(k, -static_cast<double>(p->beta())));
  p->set_alpha(static_cast<float>(p->alpha() / k));
  net.append_behind(layer, power_layer(factor), "_k");
}

std::optional<Finding> check_no_coeff(const DeployNet& net, int layer) {
  if (net.param(layer).type() != "Eltwise" || net.param(layer).eltwise_param().coeff_size() == 0) return std::nullopt;
  return Finding{"coeff is not understood", "eltwise_param.coeff"};
}

void mend_no_coeff(DeployNet& net, int layer) {
  const auto coeff = net.param(layer).eltwise_param().coeff();
  net.param(layer).mutable_eltwise_param()->clear_coeff();
  net.change();
  int at = layer;
  for (int b = 0; b < coeff.size(); ++b) {
    if (coeff[b] != 1) at = net.put_before(at, b, power_layer(coeff[b]), str("_coeff_", b));
  }
}

std::optional<Finding> check_two_bottoms(const DeployNet& net, int layer) {
  if (net.param(layer).type() != "Eltwise" || net.param(layer).bottom_size() <= 2) return std::nullopt;
  return Finding{str("an Eltwise of ", net.param(layer).bottom_size(), " bottoms is not understood"), "bottom"};
}

/// The first two by themselves, and so on. Coefficients are gone by then.
void mend_two_bottoms(DeployNet& net, int layer) {
  constexpr int kMostBottoms = 64;
  if (net.param(layer).bottom_size() > kMostBottoms) {
    throw Error(ErrorKind::kUnsupported, str("an Eltwise of more than ", kMostBottoms, " bottoms"),
                "part it by yourself")
        .in_field("bottom");
  }
  int at = layer;
  for (int pair = 1; net.param(at).bottom_size() > 2; ++pair) {
    caffe::LayerParameter first;
    first.set_type("Eltwise");
    *first.mutable_eltwise_param() = net.param(at).eltwise_param();
    const std::string second = net.param(at).bottom(1);
    net.param(at).mutable_bottom()->DeleteSubrange(1, 1);
    at = net.put_before(at, 0, first, str('_', pair));
    net.param(at - 1).add_bottom(second);
    net.change();
  }
}

}  // namespace robusta::deploy
