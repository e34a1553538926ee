// The steps in their order. What is compared at the end is read from files as any other reader would read them.

#include "exchange/deploy/deploy.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/atomic_file.h"
#include "base/log.h"
#include "base/str.h"
#include "exchange/deploy/fold.h"
#include "exchange/deploy/plain_form.h"
#include "exchange/deploy/rules.h"
#include "exchange/deploy/verify.h"
#include "schema/filter.h"
#include "schema/print.h"
#include "schema/read_text.h"
#include "schema/splits.h"
#include "solver/files/model_format.h"
#include "solver/files/weights.h"

namespace robusta::deploy {
namespace {

constexpr const char* kDefect = "no file was written; please report it with the net";

constexpr int64_t kLargestWeights = INT32_MAX;  // bytes of a message

/// A folder beside the output that goes away with what is in it.
class ScratchFolder {
 public:
  explicit ScratchFolder(const std::string& prefix) : path_(prefix + ".check.XXXXXX") {
    if (!mkdtemp(path_.data())) {
      throw Error(ErrorKind::kOutput, str("cannot make the folder ", path_, ": ", std::strerror(errno)),
                  "give an -output in a folder that is there, and where you may write");
    }
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + '/' + name; }

 private:
  std::string path_;
};

/// Where the shapes of inputs were guessed, they may be why an array does not fit.
CopyReport copy_arrays(const std::string& path, Net& built, bool shapes_are_given) {
  const WeightsFile model = format_of_file(path).read_model(path);
  try {
    return copy_weights(model, path, built);
  } catch (const Error& error) {
    if (shapes_are_given) throw;
    throw Error(error.kind(), error.cause(),
                str(error.fix(), "; where the data is not here, say the shapes of inputs: -shapes NAME:1,3,224,224"))
        .at(path);
  }
}

/// Every layer that has arrays gets them from the files.
void load_arrays(Net& built, const std::vector<std::string>& paths, bool shapes_are_given) {
  std::set<std::string> missing;
  for (size_t file = 0; file < paths.size(); ++file) {
    const CopyReport report = copy_arrays(paths[file], built, shapes_are_given);
    LOG_INFO << paths[file] << ": " << report.copied.size() << " layers copied, " << report.skipped.size()
             << " are not in the deployed net";
    std::set<std::string> absent(report.missing.begin(), report.missing.end()), both;
    for (const std::string& layer : absent) {
      if (file == 0 || missing.contains(layer)) both.insert(layer);
    }
    missing = both;
  }
  if (missing.empty()) return;
  throw Error(ErrorKind::kModel, str("no weights for ", missing.size(), " layer(s), ", *missing.begin(), " among them"),
              "give the weights that this net was trained to")
      .at(paths.back());
}

/// Before anything is computed: what a message of protobuf cannot hold would fail after minutes, in a file of scratch.
void require_one_message(const DeployNet& net) {
  int64_t bytes = 0, largest = 0;
  std::string where;
  const std::unique_ptr<Net> plan = build_net(net.definition(), 0, true);
  for (const Node& node : plan->graph().nodes) {
    int64_t own = 0;
    for (const ParamPtr& param : node.params) own += param->desc.count() * static_cast<int64_t>(sizeof(float));
    if (own > largest) largest = own, where = node.layer->name();
    bytes += own;
  }
  if (bytes <= kLargestWeights) return;
  throw Error(ErrorKind::kUnsupported,
              str("the net's weights are ", bytes, " bytes, and a .caffemodel, one message of protobuf, has less than ",
                  "2 GiB"),
              str("-blobs ends the net earlier; the most, ", largest, " bytes, are in layer ", where));
}

void take_arrays(DeployNet& net, const Net& built) {
  const std::vector<NodeId> nodes = nodes_of(built, net.definition().param);
  for (int i = 0; i < net.size(); ++i) {
    for (const ParamPtr& param : built.graph().nodes[nodes[static_cast<size_t>(i)]].params) {
      net.at(i).arrays.push_back(
          {.shape = param->desc.shape.dims(), .legacy_dims = false, .data = built.blobs().read_param(*param)});
    }
  }
}

caffe::NetParameter with_arrays(caffe::NetParameter form, const DeployNet& net) {
  for (int i = 0; i < net.size(); ++i) {
    for (const BlobData& array : net.layers[static_cast<size_t>(i)].arrays) {
      blob_to_proto(array.shape, array.data.data(), form.mutable_layer(i)->add_blobs());
    }
  }
  return form;
}

/// The name of a blob that keeps its value to the end of a pass; "" where it is gone, or written over.
std::string lasting_name(const FileForm& form, const std::string& blob) {
  const auto found = form.names.find(blob);
  if (found == form.names.end()) return "";
  const auto has_name = [&](const auto& entry) { return entry.second == found->second; };
  return std::count_if(form.names.begin(), form.names.end(), has_name) == 1 ? found->second : "";
}

/// Outputs, and what a Softmax or Sigmoid at the end reads: probabilities hide differences where they are 0 and 1.
std::vector<ComparedBlobs> blobs_to_compare(const DeployNet& trained, const DeployNet& net, const FileForm& form) {
  std::set<std::string> written;
  for (const std::string& output : net.outputs) written.insert(form.names.at(output));
  std::vector<ComparedBlobs> blobs;
  for (const std::string& output : trained.outputs) {
    // By its name where another layer makes it now.
    const std::string& name = net.is_output(output) ? form.names.at(output) : trained.names.at(output);
    if (!written.contains(name)) throw Error(ErrorKind::kInternal, "the output " + name + " was lost", kDefect);
    blobs.push_back({output, name});
    const caffe::LayerParameter& layer = trained.param(trained.producer(output));
    if (layer.type() != "Softmax" && layer.type() != "Sigmoid") continue;
    if (const std::string scores = lasting_name(form, layer.bottom(0)); !scores.empty()) {
      blobs.push_back({layer.bottom(0), scores});
    }
  }
  return blobs;
}

/// The pair in `folder`, read and run as a stranger would.
std::unique_ptr<Net> read_back(const ScratchFolder& folder) {
  const QuietLog quiet;
  const std::string text = folder / "net.prototxt", model = folder / "net.caffemodel";
  std::unique_ptr<Net> net = build_net(layers_in_state(read_net(text), {}), 0, false);
  copy_weights(format_of_file(model).read_model(model), model, *net);
  return net;
}

BlobValues named(const BlobValues& values, const std::map<std::string, std::string>& names) {
  BlobValues result;
  for (const auto& [blob, numbers] : values) result[names.at(blob)] = numbers;
  return result;
}

/// The net that was trained, with the numbers that it made of a random input.
struct Reference {
  DeployNet definition;
  std::unique_ptr<Net> net;
  BlobValues pixels;  ///< before any transformation
};

Reference run_reference(DeployNet& net, const DeployOptions& options, const std::vector<InputTransform>& transforms) {
  Reference reference{net, build_net(net.definition(), 0, false), random_inputs(net, transforms, 1)};
  load_arrays(*reference.net, options.weights, !options.shapes.empty());
  take_arrays(net, *reference.net);
  BlobValues inputs = reference.pixels;
  apply_transforms(transforms, &inputs);
  run_on(*reference.net, inputs);
  require_finite_outputs(*reference.net, reference.definition);
  return reference;
}

/// Whether the trained net computes the same of other inputs. Two nets agree about weights that are all zeros, or
/// behind a layer that lets nothing pass, whatever else they compute.
bool is_constant(Reference& reference, const std::vector<ComparedBlobs>& blobs,
                 const std::vector<InputTransform>& transforms) {
  BlobValues others = random_inputs(reference.definition, transforms, 2);
  if (others.empty()) return false;
  apply_transforms(transforms, &others);
  return !depends_on_inputs(*reference.net, blobs, others);
}

/// Throws Error{kNumeric} where the files compute something else.
Agreement check(const Reference& reference, const std::vector<ComparedBlobs>& blobs, const FileForm& form,
                const ScratchFolder& folder, const BlobValues& inputs) {
  const std::unique_ptr<Net> written = read_back(folder);
  run_on(*written, named(inputs, form.names));
  const Agreement agreement = compare(*reference.net, *written, blobs);
  if (agreement.largest <= kLargestDifference) return agreement;
  throw Error(ErrorKind::kNumeric,
              str("the deployed net differs from the trained one: blob ", agreement.blob, " by ", agreement.largest,
                  " of its largest number"),
              kDefect);
}

/// The changes that leave every output as it was.
void rewrite(DeployNet& net, const DeployOptions& options, const std::vector<InputTransform>& transforms) {
  remove_identities(net);
  remove_training_fields(net);
  normalise_batch_norms(net);
  if (options.fold) LOG_INFO << fold_batch_norms(net) << " layers are folded into others";
  if (options.transform == TransformMode::kFold) {
    for (const InputTransform& transform : transforms) fold_transform(net, transform);
  }
  mend(net, toolchains_named(options.target));
}

void write_text(const std::string& path, const std::string& text) {
  write_file_atomically(path, [&](int fd) { write_all(fd, text.data(), text.size()); });
}

/// Weights first: a definition never lies without them.
std::vector<std::string> write_files(const DeployNet& net, const FileForm& form, const caffe::NetParameter& model,
                                     const DeployOptions& options, const std::vector<InputTransform>& transforms) {
  std::vector<std::string> files{options.output + ".caffemodel", options.output + ".prototxt"};
  for (const std::string& output : net.outputs) {
    const std::string &before = net.names.at(output), &now = form.names.at(output);
    if (before != now) LOG_WARNING << "The output " << before << " is called " << now << ": the name is another blob's";
  }
  const bool changes = std::any_of(transforms.begin(), transforms.end(), [](const auto& t) { return t.changes(); });
  const bool side_file = changes && options.transform == TransformMode::kFile;
  if (side_file) files.push_back(options.output + ".transform.json");
  for (const std::string& file : files) require_writable_file("the deployed net", file);
  write_binary_proto(files[0], model);
  if (side_file) {
    write_text(files[2], transform_json(net, transforms));
    LOG_INFO << "The net takes transformed pixels: " << files[2] << " says how (-transform fold builds it in)";
  }
  if (const std::string old = options.output + ".transform.json"; !side_file && std::filesystem::exists(old)) {
    LOG_WARNING << old << " was there before and is not of this net: remove it";
  }
  if (changes && options.transform == TransformMode::kNone) {
    LOG_WARNING << "The net takes transformed pixels, and -transform none does not write down how";
  }
  write_text_proto(files[1], form.net);
  return files;
}

}  // namespace

NetDef layers_in_state(const NetDef& net, const caffe::NetState& extra) {
  caffe::NetState state = net.param.state();
  state.set_phase(caffe::TEST);
  state.MergeFrom(extra);
  state.set_phase(caffe::TEST);
  net_in_state(net, state);  // throws for bottoms that nobody makes, and says why
  NetDef layers = filter_net(net, state);
  layers.param.set_force_backward(false);
  return layers;
}

Deployed deploy(const NetDef& net, const caffe::NetState& extra, const DeployOptions& options) {
  toolchains_named(options.target);
  DeployNet deployed = DeployNet::of(layers_in_state(net, extra));
  remove_heads(deployed, options.scores);
  keep_outputs(deployed, options.blobs);
  std::vector<InputTransform> transforms = make_inputs(deployed, options.batch, options.shapes);
  require_one_message(deployed);
  Reference reference = run_reference(deployed, options, transforms);
  rewrite(deployed, options, transforms);

  const FileForm form = deployed.file_form();
  const caffe::NetParameter model = with_arrays(form.net, deployed);
  const ScratchFolder folder(options.output);
  write_binary_proto(folder / "net.caffemodel", model);
  write_text_proto(folder / "net.prototxt", form.net);
  BlobValues inputs = reference.pixels;
  if (options.transform != TransformMode::kFold) apply_transforms(transforms, &inputs);
  const std::vector<ComparedBlobs> blobs = blobs_to_compare(reference.definition, deployed, form);
  const Agreement agreement = check(reference, blobs, form, folder, inputs);

  Deployed result;
  result.constant = is_constant(reference, blobs, transforms);
  if (result.constant) {
    LOG_WARNING << "The trained net computes the same " << agreement.blob << " of two random inputs, so that the "
                << "comparison says little: look at its weights";
  }
  result.files = write_files(deployed, form, model, options, transforms);
  for (const auto& [blob, values] : inputs) result.inputs.push_back(form.names.at(blob));
  for (const std::string& blob : deployed.outputs) result.outputs.push_back(form.names.at(blob));
  result.difference = agreement.largest;
  result.blob = agreement.blob;
  return result;
}

}  // namespace robusta::deploy
