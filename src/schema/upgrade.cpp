// Order matters: each step expects the form that the one before it leaves.

#include "schema/upgrade.h"

#include "base/str.h"
#include "robusta/error.h"
#include "schema/dialect.h"
#include "schema/reflect.h"
#include "schema/upgrade_steps.h"

namespace robusta {

void move_line(LayerSource* source, const std::string& old_path, const std::string& new_path) {
  const auto found = source->fields.find(old_path);
  if (found != source->fields.end()) source->fields.insert_or_assign(new_path, found->second);
}

void insert_layer(NetDef* net, int index, caffe::LayerParameter layer, LayerSource source) {
  net->param.add_layer()->Swap(&layer);
  for (int i = net->param.layer_size() - 1; i > index; --i) net->param.mutable_layer()->SwapElements(i, i - 1);
  net->sources.insert(net->sources.begin() + index, std::move(source));
}

caffe::LayerParameter part_of_layer(const NetDef& net, int at, const char* type,
                                    const std::vector<std::string>& bottoms, const std::string& what) {
  const caffe::LayerParameter& whole = net.param.layer(at);
  caffe::LayerParameter part;
  part.set_name(str(whole.name(), "/", what));
  part.set_type(type);
  for (const std::string& bottom : bottoms) part.add_bottom(bottom);
  part.add_top(part.name());
  *part.mutable_include() = whole.include();
  *part.mutable_exclude() = whole.exclude();
  return part;
}

std::string put_in_front(NetDef* net, int* at, caffe::LayerParameter part) {
  const std::string top = part.top(0);
  const LayerSource& source = net->source_of(*at);
  insert_layer(net, (*at)++, std::move(part), {source.file, source.line, {}});
  return top;
}

UpgradeNotes upgrade_net(NetDef* net) {
  UpgradeNotes notes;
  if (net->param.layers_size() > 0 && net->param.layer_size() > 0)
    throw Error(ErrorKind::kConfig, "the net has both `layers` (old form) and `layer`", "use one form for all layers")
        .at(net->sources.at(0).where());
  upgrade_v0(net, &notes);
  upgrade_transform(net, &notes);
  upgrade_v1(net, &notes);
  upgrade_input(net, &notes);
  upgrade_batch_norm(net, &notes);
  upgrade_second_pairs(net, &notes);
  upgrade_permuting_concats(net, &notes);
  upgrade_inner_relus(net, &notes);
  upgrade_synonyms(net, &notes);
  upgrade_3d(net, &notes);
  upgrade_synopsys(net, &notes);
  settle_dialect(net);
  return notes;
}

void require_complete(const UpgradeNotes& notes, const std::string& file) {
  if (notes.dropped.empty()) return;
  std::string all;
  for (const std::string& note : notes.dropped) all += (all.empty() ? "" : "; ") + note;
  throw Error(ErrorKind::kConfig, "the upgrade is not complete: " + all, "check the result").at(file);
}

namespace {

/// Moves what is set of the four transformation fields from `old_param` to transform_param.
bool move_transform_fields(const std::string& old_name, caffe::V1LayerParameter* layer, LayerSource* source) {
  const auto* old_field = layer->GetDescriptor()->FindFieldByName(old_name);
  if (!has_field(*layer, old_field)) return false;
  auto* old_param = layer->GetReflection()->MutableMessage(layer, old_field);
  bool moved = false;
  for (const std::string name : {"scale", "mean_file", "crop_size", "mirror"}) {
    const auto* from = old_param->GetDescriptor()->FindFieldByName(name);
    if (!has_field(*old_param, from)) continue;
    auto* transform = layer->mutable_transform_param();
    copy_field(*old_param, from, transform, transform->GetDescriptor()->FindFieldByName(name));
    old_param->GetReflection()->ClearField(old_param, from);
    move_line(source, old_name + "." + name, "transform_param." + name);
    moved = true;
  }
  return moved;
}

}  // namespace

/// Of V1 alone: in a `layer` of today the old places have no meaning in Caffe, either.
void upgrade_transform(NetDef* net, UpgradeNotes* notes) {
  using V1 = caffe::V1LayerParameter;
  bool moved = false;
  for (int i = 0; i < net->param.layers_size(); ++i) {
    V1* layer = net->param.mutable_layers(i);
    LayerSource* source = &net->source_of(i);
    if (layer->type() == V1::DATA) moved |= move_transform_fields("data_param", layer, source);
    if (layer->type() == V1::IMAGE_DATA || layer->type() == V1::VIDEO_DATA)
      moved |= move_transform_fields("image_data_param", layer, source);
    if (layer->type() == V1::WINDOW_DATA) moved |= move_transform_fields("window_data_param", layer, source);
  }
  if (moved) notes->done.emplace_back("moved transformations of data layers to transform_param");
}

void upgrade_input(NetDef* net, UpgradeNotes* notes) {
  caffe::NetParameter& param = net->param;
  if (param.input_size() == 0) return;
  // Weights files name inputs without any shape: no layer comes of these.
  const bool by_shape = param.input_shape_size() > 0;
  if (by_shape || param.input_dim_size() > 0) {
    const int shapes = by_shape ? param.input_shape_size() : param.input_dim_size() / 4;
    if (shapes != param.input_size() || (!by_shape && param.input_dim_size() % 4 != 0))
      throw Error(ErrorKind::kConfig, str(param.input_size(), " inputs, but shapes for ", shapes),
                  "give one input_shape, or four input_dim, per input")
          .at(net->where("input"));
    caffe::LayerParameter layer;
    layer.set_name("input");
    layer.set_type("Input");
    for (int i = 0; i < param.input_size(); ++i) {
      layer.add_top(param.input(i));
      caffe::BlobShape* shape = layer.mutable_input_param()->add_shape();
      if (by_shape)
        shape->CopyFrom(param.input_shape(i));
      else
        for (int axis = 0; axis < 4; ++axis) shape->add_dim(param.input_dim(4 * i + axis));
    }
    const auto line = net->fields.find("input");
    insert_layer(net, 0, std::move(layer), {net->file, line == net->fields.end() ? 0 : line->second, {}});
    notes->done.emplace_back("made an Input layer of the `input` fields");
  }
  param.clear_input();
  param.clear_input_shape();
  param.clear_input_dim();
}

}  // namespace robusta
