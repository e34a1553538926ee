// What training and the forks have left in a net, each thing with its own way into Caffe's plain form.

#include "exchange/deploy/plain_form.h"

#include <algorithm>
#include <cmath>

#include "base/log.h"
#include "base/str.h"

namespace robusta::deploy {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

/// Whether the layer may be left out: its reader gets the same numbers from what it reads.
bool may_be_bypassed(const DeployNet& net, int i) {
  const caffe::LayerParameter& layer = net.param(i);
  const auto is_output = [&](const std::string& top) { return net.is_output(top); };
  const bool last = std::any_of(layer.top().begin(), layer.top().end(), is_output);
  const int before = net.producer(layer.bottom(0));
  const auto bottom_readers = net.readers(layer.bottom(0));
  // An output keeps its name: then what the layer reads takes that, which is for it alone to read and no input's.
  return !last || (layer.top_size() == 1 && bottom_readers.size() == 1 && !net.is_output(layer.bottom(0)) &&
                   net.param(before).type() != "Input");
}

void bypass(DeployNet& net, int i) {
  const caffe::LayerParameter layer = net.param(i);
  for (const std::string& top : layer.top()) {
    net.read_instead(top, layer.bottom(0));
    if (!net.is_output(top)) continue;
    net.outputs.erase(top);
    net.outputs.insert(layer.bottom(0));
    net.names[layer.bottom(0)] = net.names.at(top);
  }
  net.remove(i);
}

/// A Dropout in testing: nothing, or with scale_train false (Microsoft's Caffe) the share that survives. Returns
/// whether it is to be bypassed.
bool settle_dropout(DeployNet& net, int i) {
  caffe::LayerParameter& layer = net.param(i);
  const caffe::DropoutParameter dropout = layer.dropout_param();
  if (dropout.sample_weights_test()) {
    throw_at(Error(ErrorKind::kUnsupported, "a Dropout that drops in testing, too, is no function of its input",
                   "remove sample_weights_test")
                 .in_field("dropout_param.sample_weights_test"),
             net.at(i));
  }
  if (dropout.scale_train() && may_be_bypassed(net, i)) return true;
  layer.clear_dropout_param();
  layer.set_type("Power");  // the identity
  if (!dropout.scale_train()) layer.mutable_power_param()->set_scale(1 - dropout.dropout_ratio());
  net.change();
  return false;
}

/// Fillers, wherever a message of fields has one.
void clear_fillers(Message* message) {
  const auto* reflection = message->GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) {
    const bool filler = field->message_type() == caffe::FillerParameter::descriptor();
    const bool engine = field->name() == "engine";
    if (filler || engine) reflection->ClearField(message, field);
  }
}

std::vector<float>& values(DeployLayer& layer, size_t array) { return layer.arrays[array].data; }

BlobData vector_of(const BlobData& blob) {
  return {.shape = {static_cast<int64_t>(blob.data.size())}, .legacy_dims = false, .data = blob.data};
}

/// y = scale * x + shift for each channel, behind layer `i`.
void append_scale(DeployNet& net, int i, const BlobData& scale, const BlobData& shift) {
  caffe::LayerParameter layer;
  layer.set_type("Scale");
  layer.mutable_scale_param()->set_bias_term(true);
  net.append_behind(i, std::move(layer), "_scale", {vector_of(scale), vector_of(shift)});
}

/// Statistics divided by the number of batches that they are sums over; 0 batches give 0, as in Caffe.
void settle_statistics(DeployLayer& layer) {
  if (layer.arrays.size() < 3) return;
  const float batches = layer.arrays[2].data.at(0);
  if (batches == 0) {
    LOG_WARNING << "layer " << layer.param.name() << ": its statistics were never taken, and count as mean 0 and "
                << "variance 0: is the net trained?";
  }
  for (size_t k = 0; k < 2; ++k) {
    for (float& value : values(layer, k)) value = batches == 0 ? 0 : value / batches;
  }
  layer.arrays[2] = {.shape = {1}, .legacy_dims = false, .data = {1}};
}

void settle_batch_norm(DeployNet& net, int i) {
  caffe::BatchNormParameter* p = net.param(i).mutable_batch_norm_param();
  if (p->has_use_global_stats() && !p->use_global_stats()) {
    throw_at(Error(ErrorKind::kUnsupported, "it normalises by the batch in testing, too, which no toolchain does",
                   "remove use_global_stats: false")
                 .in_field("batch_norm_param.use_global_stats"),
             net.at(i));
  }
  const float eps = p->eps();
  const bool has_eps = p->has_eps(), outside = !p->add_eps_before_sqrt();
  p->Clear();
  p->set_use_global_stats(true);
  if (has_eps || outside) p->set_eps(outside ? 0 : eps);
  net.change();
  settle_statistics(net.at(i));
  if (outside && net.at(i).arrays.size() >= 3) {
    // Divided by sqrt(variance) + eps: the same with its square for the variance.
    for (float& value : values(net.at(i), 1)) value = static_cast<float>(std::pow(std::sqrt(value) + eps, 2));
  }
  if (net.at(i).arrays.size() != 5) return;
  const BlobData scale = net.at(i).arrays[3], shift = net.at(i).arrays[4];
  net.at(i).arrays.resize(3);
  append_scale(net, i, scale, shift);
}

/// The BN layers of forks: arrays [scale, shift] or [scale, shift, mean, variance].
void settle_bn(DeployNet& net, int i) {
  const caffe::BNParameter p = net.param(i).bn_param();
  const std::vector<BlobData> arrays = net.at(i).arrays;
  if (arrays.size() < 2) return;  // of a definition without weights
  const bool stored = arrays.size() == 4 ? p.moving_average() : p.bn_mode() == caffe::BNParameter::INFERENCE;
  if (!stored) {
    throw_at(Error(ErrorKind::kUnsupported, "it normalises by the batch in testing, too, which no toolchain does",
                   "take the net with bn_mode: INFERENCE, and weights that were made for it")
                 .in_field("bn_param"),
             net.at(i));
  }
  net.param(i).clear_bn_param();
  if (arrays.size() != 4) {
    net.param(i).set_type("Scale");
    net.param(i).mutable_scale_param()->set_bias_term(true);
    net.at(i).arrays = {vector_of(arrays[0]), vector_of(arrays[1])};
    net.change();
    return;
  }
  net.param(i).set_type("BatchNorm");
  net.param(i).mutable_batch_norm_param()->set_use_global_stats(true);
  const bool windows = p.has_var_eps() || p.has_decay() || p.has_moving_average();
  net.param(i).mutable_batch_norm_param()->set_eps(windows ? p.var_eps() : p.eps());
  net.at(i).arrays = {vector_of(arrays[2]), vector_of(arrays[3]), {.shape = {1}, .legacy_dims = false, .data = {1}}};
  net.change();
  append_scale(net, i, arrays[0], arrays[1]);
}

}  // namespace

void remove_identities(DeployNet& net) {
  for (int i = 0; i < net.size();) {
    const std::string& type = net.param(i).type();
    const bool dropout = type == "Dropout" || type == "SpatialDropout";
    if ((dropout && settle_dropout(net, i)) || (type == "Split" && may_be_bypassed(net, i))) {
      bypass(net, i);
    } else {
      ++i;
    }
  }
}

void remove_training_fields(DeployNet& net) {
  for (DeployLayer& layer : net.layers) {
    caffe::LayerParameter& p = layer.param;
    p.clear_param();
    p.clear_propagate_down();
    p.clear_loss_weight();
    p.clear_include();
    p.clear_exclude();
    p.clear_phase();
    p.clear_loss_param();
    if (p.eltwise_param().has_stable_prod_grad()) p.mutable_eltwise_param()->clear_stable_prod_grad();
    // What a field says by default, not all readers know by name.
    if (p.type() == "Swish" && p.swish_param().beta() == 1) p.clear_swish_param();
    std::vector<const FieldDescriptor*> fields;
    p.GetReflection()->ListFields(p, &fields);
    for (const FieldDescriptor* field : fields) {
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || field->is_repeated()) continue;
      clear_fillers(p.GetReflection()->MutableMessage(&p, field));
    }
  }
  net.change();
}

void normalise_batch_norms(DeployNet& net) {
  for (int i = 0; i < net.size(); ++i) {
    if (net.param(i).type() == "BatchNorm") settle_batch_norm(net, i);
    if (net.param(i).type() == "BN") settle_bn(net, i);
  }
}

}  // namespace robusta::deploy
