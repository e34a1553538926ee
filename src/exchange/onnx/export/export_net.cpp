// A net is built for its shapes and weights, then its graph is walked in order. With a dynamic batch it is built for
// two batches, and what differs between both follows the batch.

#include "exchange/onnx/export/export_net.h"

#include <algorithm>

#include "base/log.h"
#include "base/str.h"
#include "base/version.h"
#include "exchange/onnx/export/emitter.h"
#include "exchange/onnx/export/inference_net.h"
#include "schema/splits.h"
#include "solver/files/model_format.h"
#include "solver/files/weights.h"

namespace robusta {
namespace {

constexpr int64_t kIrVersion = 8, kOperatorSet = 13;
// Neither is 1, so that an extent of 1 is none of the batch's.
constexpr int64_t kOneBatch = 2, kOtherBatch = 3;

std::unique_ptr<Net> build_inference(const NetDef& inference, bool shapes_alone) {
  const QuietLog quiet;
  NetOptions net_options;
  net_options.phase = caffe::TEST;
  net_options.backward = false;
  net_options.plan_only = shapes_alone;
  net_options.keep_blobs = true;  // constants are read from blobs in the middle
  return std::make_unique<Net>(insert_splits(inference), net_options);
}

/// All layers with parameters have theirs from one of the files.
void load_all_weights(const OnnxExportOptions& options, Net& net) {
  if (options.weights.empty()) {
    LOG_WARNING << "no -weights: the model holds the numbers of the fillers";
    return;
  }
  std::vector<std::string> missing;
  for (size_t file = 0; file < options.weights.size(); ++file) {
    const std::string& path = options.weights[file];
    const CopyReport report = copy_weights(format_of_file(path).read_model(path), path, net);
    LOG_INFO << "Weights of " << report.copied.size() << " layers from " << path;
    std::vector<std::string> still;
    for (const std::string& layer : report.missing) {
      if (file == 0 || std::find(missing.begin(), missing.end(), layer) != missing.end()) still.push_back(layer);
    }
    missing = still;
  }
  if (missing.empty()) return;
  std::string names;
  for (const std::string& layer : missing) names += (names.empty() ? "" : ", ") + layer;
  throw Error(ErrorKind::kModel, "there are no weights for " + names, "give the weights that belong to this net")
      .at(options.weights[0]);
}

class Exporter {
 public:
  Exporter(Net& net, const Net* other) : net_(net), graph_(net.graph()), other_(other) {}

  onnx::ModelProto run() {
    find_dims();
    name_values();
    emit_layers();
    describe_ends();
    onnx::ModelProto model;
    model.set_ir_version(kIrVersion);
    model.add_opset_import()->set_version(kOperatorSet);
    model.set_producer_name("robusta");
    model.set_producer_version(ROBUSTA_VERSION);
    *model.mutable_graph() = std::move(writer_.proto());
    model.mutable_graph()->set_name(net_.name().empty() ? "net" : net_.name());
    return model;
  }

  std::vector<std::string> inputs() const { return blob_names(graph_.inputs()); }
  std::vector<std::string> outputs() const { return blob_names(outputs_); }

 private:
  std::vector<std::string> blob_names(const std::vector<VersionId>& versions) const {
    std::vector<std::string> names;
    for (const VersionId v : versions) names.push_back(graph_.versions[v].name);
    return names;
  }

  [[noreturn]] void refuse_at(const Node& node, const std::string& cause) const {
    throw Error(ErrorKind::kUnsupported, cause).in_layer(node.layer->name()).at(node.where.where());
  }

  Dim dim_of(const BlobVersion& version, int64_t one, int64_t other) const {
    Dim dim{one};
    for (int64_t a = one, b = other; a != b; ++dim.batch_power) {
      if (dim.batch_power > 2) {
        refuse_at(graph_.nodes[version.producer],
                  str("an extent of blob \"", version.name, "\" follows the batch otherwise than in proportion"));
      }
      a *= kOtherBatch;
      b *= kOneBatch;
    }
    return dim;
  }

  void find_dims() {
    for (const VersionId v : graph_.versions.ids()) {
      const BlobVersion& version = graph_.versions[v];
      Dims dims = fixed(version.shape);
      if (other_) {
        const Shape& other = other_->graph().versions[v].shape;
        if (other.axes() != version.shape.axes())
          refuse_at(graph_.nodes[version.producer], "how many axes it makes depends on the batch");
        for (int axis = 0; axis < other.axes(); ++axis) {
          dims[static_cast<size_t>(axis)] = dim_of(version, version.shape[axis], other[axis]);
        }
      }
      dims_.push_back(std::move(dims));
      names_.push_back("");
    }
  }

  bool is_input(VersionId v) const {
    const Node& producer = graph_.nodes[graph_.versions[v].producer];
    return producer.source && producer.source->is_input();
  }

  /// A Split gives one value several readers, which values of ONNX have anyway.
  bool is_repeat(VersionId v) const {
    const BlobVersion& version = graph_.versions[v];
    return graph_.nodes[version.producer].layer->repeats_bottom() && version.consumer;
  }

  void name_values() {
    for (const VersionId v : graph_.inputs()) names_[v] = writer_.unique(graph_.versions[v].name);
    for (const bool hidden : {false, true}) {
      for (const VersionId v : graph_.versions.ids()) {
        const BlobVersion& version = graph_.versions[v];
        if (!names_[v].empty() || is_repeat(v) || version.hidden_by_later != hidden) continue;
        const std::string& maker = graph_.nodes[version.producer].layer->name();
        names_[v] = writer_.unique(hidden ? str(version.name, "/", maker) : version.name);
      }
    }
    for (const Node& node : graph_.nodes) {
      for (const VersionId top : node.tops) {
        if (is_repeat(top)) names_[top] = names_[node.bottoms[0]];
      }
    }
  }

  void emit_layers() {
    std::vector<Error> refusals;
    const LayerEmission::Context context{net_, writer_, names_, dims_,
                                         [this](const std::string& blob) { return constant_blob(blob); }};
    for (const Node& node : graph_.nodes) {
      try {
        emit(context, node);
      } catch (Error& error) {
        if (error.kind() != ErrorKind::kUnsupported) throw;
        refusals.push_back(error.in_layer(node.layer->name()).at(node.where.where(error.field())));
      }
    }
    if (refusals.size() == 1) throw refusals[0];
    if (refusals.empty()) return;
    std::string all;
    for (const Error& error : refusals) all += str("\n  ", error.what());
    throw Error(ErrorKind::kUnsupported, str(refusals.size(), " layers have no equal in ONNX:", all),
                "end the net before them, or compute them in your program")
        .at(graph_.def.file);
  }

  void emit(const LayerEmission::Context& context, const Node& node) {
    if (node.source && node.source->is_input()) return;
    LayerEmission layer(context, node);
    if (node.layer->repeats_bottom()) return emit_repeats(layer, node);
    for (const VersionId top : node.tops) {
      if (graph_.versions[top].varies && varying_axis_in_onnx(layer.param().type()) < 0)
        layer.refuse("how large its tops are follows from values");
    }
    const OnnxEmitter emitter = find_onnx_emitter(node.layer->param().type());
    if (!emitter) layer.refuse("type " + node.layer->param().type() + " has no equal in ONNX");
    emitter(layer);
  }

  void emit_repeats(LayerEmission& layer, const Node& node) const {
    for (size_t i = 0; i < node.tops.size(); ++i) {
      if (!is_repeat(node.tops[i])) layer.top(static_cast<int>(i), "Identity", {layer.bottom(0)});
    }
  }

  void describe_ends() {
    for (const VersionId v : graph_.inputs()) writer_.add_input(names_[v], dims_[v], kOneBatch);
    for (const std::string& blob : net_.blobs().outputs()) outputs_.push_back(graph_.find(blob));
    for (const VersionId v : outputs_) {
      writer_.add_output(names_[v], dims_[v], kOneBatch);
      const BlobVersion& version = graph_.versions[v];
      const int axis = varying_axis_in_onnx(graph_.nodes[version.producer].layer->param().type());
      if (!version.varies || axis < 0) continue;
      auto& output = *writer_.proto().mutable_output(writer_.proto().output_size() - 1);
      output.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(axis)->set_dim_param(names_[v] +
                                                                                                      " found");
    }
  }

  std::vector<float> constant_blob(const std::string& blob) {
    if (!has_run_) net_.forward({.batch = net_.batch()});
    has_run_ = true;
    return net_.blobs().read(blob);
  }

  Net& net_;
  const Graph& graph_;
  const Net* other_;
  OnnxGraphWriter writer_;
  IdVector<VersionId, std::string> names_;
  IdVector<VersionId, Dims> dims_;
  std::vector<VersionId> outputs_;
  bool has_run_ = false;
};

/// Of the input itself: layers may work on it in place.
Shape input_shape(const Net& net, const std::string& input) {
  return net.graph().versions[net.graph().find_input(input)].shape;
}

}  // namespace

OnnxExport export_to_onnx(const NetDef& net, const OnnxExportOptions& options) {
  OnnxExport exported;
  std::unique_ptr<Net> other;
  const int64_t batch = options.dynamic_batch ? kOneBatch : options.batch;
  try {
    exported.net = build_inference(inference_net(net, batch, options.nms), false);
    if (options.dynamic_batch) {
      const QuietLog quiet;  // it says the same once more
      other = build_inference(inference_net(net, kOtherBatch, options.nms), true);
    }
  } catch (Error& error) {
    if (!options.dynamic_batch || error.kind() != ErrorKind::kConfig) throw;
    throw Error(error.kind(), str(error.cause(), " (with a batch of ", exported.net ? kOtherBatch : kOneBatch, ")"),
                error.fix() + (error.fix().empty() ? "" : "; or ") + "give -batch a number, if the net fixes its batch")
        .in_field(error.field())
        .in_layer(error.layer())
        .at(error.location());
  }
  load_all_weights(options, *exported.net);
  Exporter exporter(*exported.net, other.get());
  exported.model = exporter.run();
  exported.inputs = exporter.inputs();
  exported.outputs = exporter.outputs();
  for (size_t i = 0; other && i < exported.inputs.size(); ++i) {
    exported.other_inputs.emplace_back(exported.inputs[i], input_shape(*other, exported.inputs[i]));
  }
  return exported;
}

}  // namespace robusta
