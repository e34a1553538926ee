// V0 to V1: flat settings move into the message of their type by a table, and layers that only pad are merged into the
// convolution or pooling behind them.

#include <algorithm>

#include "base/nearest.h"
#include "base/str.h"
#include "robusta/error.h"
#include "schema/reflect.h"
#include "schema/upgrade.h"
#include "schema/upgrade_steps.h"

namespace robusta {

using V0 = caffe::V0LayerParameter;
using V1 = caffe::V1LayerParameter;

namespace {

struct TypeRow {
  const char* v0;
  V1::LayerType v1;
};

/// UpgradeV0LayerType of BVLC's util/upgrade_proto.cpp, but for "padding", which is no type of a layer in V1.
constexpr TypeRow kTypes[] = {
    {"accuracy", V1::ACCURACY},
    {"bnll", V1::BNLL},
    {"concat", V1::CONCAT},
    {"conv", V1::CONVOLUTION},
    {"data", V1::DATA},
    {"dropout", V1::DROPOUT},
    {"euclidean_loss", V1::EUCLIDEAN_LOSS},
    {"flatten", V1::FLATTEN},
    {"hdf5_data", V1::HDF5_DATA},
    {"hdf5_output", V1::HDF5_OUTPUT},
    {"im2col", V1::IM2COL},
    {"images", V1::IMAGE_DATA},
    {"infogain_loss", V1::INFOGAIN_LOSS},
    {"innerproduct", V1::INNER_PRODUCT},
    {"lrn", V1::LRN},
    {"multinomial_logistic_loss", V1::MULTINOMIAL_LOGISTIC_LOSS},
    {"pool", V1::POOLING},
    {"relu", V1::RELU},
    {"sigmoid", V1::SIGMOID},
    {"softmax", V1::SOFTMAX},
    {"softmax_loss", V1::SOFTMAX_LOSS},
    {"split", V1::SPLIT},
    {"tanh", V1::TANH},
    {"window_data", V1::WINDOW_DATA},
};

/// Where a flat setting goes for layers of one type ("*": of any).
struct FieldRow {
  const char* v0;
  const char* type;
  const char* v1;
};

/// UpgradeV0LayerParameter of the same file. What a type has no row for changed nothing in V0 either: it is dropped,
/// and said so.
constexpr FieldRow kFields[] = {
    {"num_output", "conv", "convolution_param.num_output"},
    {"num_output", "innerproduct", "inner_product_param.num_output"},
    {"biasterm", "conv", "convolution_param.bias_term"},
    {"biasterm", "innerproduct", "inner_product_param.bias_term"},
    {"weight_filler", "conv", "convolution_param.weight_filler"},
    {"weight_filler", "innerproduct", "inner_product_param.weight_filler"},
    {"bias_filler", "conv", "convolution_param.bias_filler"},
    {"bias_filler", "innerproduct", "inner_product_param.bias_filler"},
    {"pad", "conv", "convolution_param.pad"},
    {"pad", "pool", "pooling_param.pad"},
    {"kernelsize", "conv", "convolution_param.kernel_size"},
    {"kernelsize", "pool", "pooling_param.kernel_size"},
    {"stride", "conv", "convolution_param.stride"},
    {"stride", "pool", "pooling_param.stride"},
    {"group", "conv", "convolution_param.group"},
    {"pool", "pool", "pooling_param.pool"},
    {"dropout_ratio", "dropout", "dropout_param.dropout_ratio"},
    {"local_size", "lrn", "lrn_param.local_size"},
    {"alpha", "lrn", "lrn_param.alpha"},
    {"beta", "lrn", "lrn_param.beta"},
    {"k", "lrn", "lrn_param.k"},
    {"source", "data", "data_param.source"},
    {"source", "hdf5_data", "hdf5_data_param.source"},
    {"source", "images", "image_data_param.source"},
    {"source", "window_data", "window_data_param.source"},
    {"source", "infogain_loss", "infogain_loss_param.source"},
    {"batchsize", "data", "data_param.batch_size"},
    {"batchsize", "hdf5_data", "hdf5_data_param.batch_size"},
    {"batchsize", "images", "image_data_param.batch_size"},
    {"batchsize", "window_data", "window_data_param.batch_size"},
    {"rand_skip", "data", "data_param.rand_skip"},
    {"rand_skip", "images", "image_data_param.rand_skip"},
    {"shuffle_images", "images", "image_data_param.shuffle"},
    {"new_height", "images", "image_data_param.new_height"},
    {"new_width", "images", "image_data_param.new_width"},
    {"concat_dim", "concat", "concat_param.concat_dim"},
    {"det_fg_threshold", "window_data", "window_data_param.fg_threshold"},
    {"det_bg_threshold", "window_data", "window_data_param.bg_threshold"},
    {"det_fg_fraction", "window_data", "window_data_param.fg_fraction"},
    {"det_context_pad", "window_data", "window_data_param.context_pad"},
    {"det_crop_mode", "window_data", "window_data_param.crop_mode"},
    {"hdf5_output_param", "hdf5_output", "hdf5_output_param"},
    {"scale", "*", "transform_param.scale"},
    {"meanfile", "*", "transform_param.mean_file"},
    {"cropsize", "*", "transform_param.crop_size"},
    {"mirror", "*", "transform_param.mirror"},
    {"name", "*", "name"},
    {"blobs", "*", "blobs"},
    {"blobs_lr", "*", "blobs_lr"},
    {"weight_decay", "*", "weight_decay"},
};

const TypeRow* find_type(const std::string& v0) {
  const auto* row = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const TypeRow& r) { return v0 == r.v0; });
  return row == std::end(kTypes) ? nullptr : row;
}

const FieldRow* find_field(const std::string& v0, const std::string& type) {
  for (const FieldRow& row : kFields)
    if (v0 == row.v0 && (row.type == type || row.type == std::string("*"))) return &row;
  return nullptr;
}

Error unknown_type(const std::string& type) {
  std::vector<std::string> known{"padding"};
  for (const TypeRow& row : kTypes) known.emplace_back(row.v0);
  return Error(ErrorKind::kConfig,
               str("unknown layer type \"", type, "\" of the oldest form", did_you_mean(type, known)));
}

std::string name_of(const V1& layer) { return layer.has_layer() ? layer.layer().name() : layer.name(); }

/// Takes the padding layers out: the layer that reads the padded blob pads by itself. (UpgradeV0PaddingLayers.) Several
/// layers may read it, as every user pads for itself.
void fold_padding(NetDef* net) {
  auto* layers = net->param.mutable_layers();
  for (int i = 0; i < layers->size(); ++i) {
    const V1 padding = layers->Get(i);
    if (padding.layer().type() != "padding") continue;
    const auto fail = [&](const std::string& cause) {
      throw Error(ErrorKind::kConfig, cause, "give the convolution or pooling a `pad` of its own")
          .in_layer(name_of(padding))
          .at(net->source_of(i).where());
    };
    if (padding.bottom_size() != 1 || padding.top_size() != 1) fail("a padding layer has one bottom and one top");
    bool used = false;
    for (int j = i + 1; j < layers->size(); ++j) {
      V1* user = layers->Mutable(j);
      if (std::find(user->bottom().begin(), user->bottom().end(), padding.top(0)) == user->bottom().end()) continue;
      const std::string& type = user->layer().type();
      if ((type != "conv" && type != "pool") || user->bottom_size() != 1)
        fail(str("layer \"", name_of(*user), "\" cannot pad its input by itself"));
      user->mutable_layer()->set_pad(padding.layer().pad());
      user->set_bottom(0, padding.bottom(0));
      used = true;
    }
    if (!used) fail(str("nothing reads the padded blob \"", padding.top(0), "\""));
    layers->DeleteSubrange(i, 1);
    net->sources.erase(net->sources.begin() + i);
    --i;
  }
}

/// Moves the flat settings of the nested layer to their places.
V1 convert_layer(const V1& old, LayerSource* source, UpgradeNotes* notes) {
  if (!old.has_layer()) return old;  // already V1, among V0 layers
  const V0& flat = old.layer();
  V1 layer;
  layer.mutable_bottom()->CopyFrom(old.bottom());
  layer.mutable_top()->CopyFrom(old.top());
  if (flat.has_type()) {
    const TypeRow* type = find_type(flat.type());
    if (!type) throw unknown_type(flat.type()).in_layer(flat.name()).at(source->where("layer.type"));
    layer.set_type(type->v1);
  }
  std::vector<const FieldDescriptor*> set;
  flat.GetReflection()->ListFields(flat, &set);
  for (const FieldDescriptor* from : set) {
    if (from->name() == "type") continue;
    const FieldRow* row = find_field(from->name(), flat.type());
    if (!row) {
      notes->dropped.push_back(str("layer \"", flat.name(), "\": dropped ", from->name(), ", as a layer of type ",
                                   flat.type(), " has no such setting"));
      continue;
    }
    const FieldRef to = mutable_field(&layer, row->v1);
    copy_field(flat, from, to.message, to.field);
    move_line(source, "layer." + from->name(), row->v1);
  }
  return layer;
}

}  // namespace

std::string v2_type_name(const std::string& v0_type) {
  const TypeRow* row = find_type(v0_type);
  return row ? v2_type_name(row->v1) : "";
}

void upgrade_v0(NetDef* net, UpgradeNotes* notes) {
  const auto& layers = net->param.layers();
  if (std::none_of(layers.begin(), layers.end(), [](const V1& layer) { return layer.has_layer(); })) return;
  fold_padding(net);
  // Caffe keeps only these of the net itself.
  caffe::NetParameter upgraded;
  if (net->param.has_name()) upgraded.set_name(net->param.name());
  upgraded.mutable_input()->CopyFrom(net->param.input());
  upgraded.mutable_input_dim()->CopyFrom(net->param.input_dim());
  if (net->param.has_force_backward()) upgraded.set_force_backward(net->param.force_backward());
  for (int i = 0; i < net->param.layers_size(); ++i)
    *upgraded.add_layers() = convert_layer(net->param.layers(i), &net->source_of(i), notes);
  net->param.Swap(&upgraded);
  notes->done.emplace_back("upgraded nested layers (V0) to V1");
}

}  // namespace robusta
