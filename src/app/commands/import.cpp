// caffe import: a model of ONNX as a net of Caffe with its weights.

#include <algorithm>
#include <iostream>
#include <set>

#include "app/commands/file_action.h"
#include "app/commands/written_files.h"
#include "app/flags/named_shapes.h"
#include "base/atomic_file.h"
#include "base/log.h"
#include "base/str.h"
#include "exchange/onnx/check_model.h"
#include "exchange/onnx/file.h"
#include "exchange/onnx/import/import.h"
#include "exchange/onnx/import/imported_run.h"
#include "robusta/error.h"
#include "schema/print.h"
#include "schema/weights_file.h"

namespace robusta {
namespace {

/// Beyond this the net does not compute what the model does (relative to the largest number of the output).
constexpr double kTolerance = 1e-4;

struct ImportFlags : FileFlags {
  Flag<std::string> output{this, "output", "", "beginning of the files to write: PREFIX.prototxt, PREFIX.caffemodel"};
  Flag<int32_t> batch{this, "batch", 0, "first dimension of every input; 0: that of the model, 1 where it is open"};
  Flag<std::string> shapes{this, "shapes", "", "shapes of inputs: NAME:1,3,224,224, several separated by semicolons"};
  Flag<std::string> check{this, "check", "python3",
                          "a Python with onnxruntime, which compares net and model after writing; off: none does"};
};

void note_types_of_forks(const ImportedNet& imported) {
  static const std::set<std::string> forks = {
      "Interp", "Pad", "Permute", "ReLU6", "ResizeBilinear", "ResizeNearestNeighbor", "Reverse"};
  std::set<std::string> used;
  for (const caffe::LayerParameter& layer : imported.net.layer()) {
    if (forks.contains(layer.type())) used.insert(layer.type());
  }
  std::string names;
  for (const std::string& type : used) names += (names.empty() ? "" : ", ") + type;
  if (!names.empty()) LOG_INFO << "layer types that are not BVLC's: " << names;
  for (const std::string& warning : imported.warnings) LOG_WARNING << warning;
}

void print_blobs(const char* what, const std::vector<ImportedBlob>& blobs) {
  for (const ImportedBlob& blob : blobs) {
    std::cout << what << " \"" << blob.value << '"';
    if (blob.blob != blob.value) std::cout << " is blob \"" << blob.blob << '"';
    std::cout << ": " << blob.shape.str() << "\n";
  }
}

ModelCheck check_import(const ImportFlags& flags, const std::string& path, const ImportedNet& imported) {
  std::vector<std::string> inputs, outputs;
  for (const ImportedBlob& input : imported.inputs) inputs.push_back(input.blob);
  for (const ImportedBlob& output : imported.outputs) outputs.push_back(output.blob);
  const std::unique_ptr<Net> net = net_of(imported);
  try {
    return check_model(path, flags.check(), *net, inputs, outputs);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInternal) throw;
    // The model is the user's: onnxruntime may refuse it, or the shapes that were asked for.
    return {.ran = false, .why_not = error.cause(), .outputs = {}};
  }
}

void print_check(const ImportFlags& flags, const ModelCheck& check) {
  if (!check.ran) {
    std::cout << "not checked: " << check.why_not << std::endl;
    if (flags.check.given()) throw Error(ErrorKind::kUsage, "the check that -check asks for cannot run", check.why_not);
    return;
  }
  for (const OutputDifference& output : check.outputs) {
    std::cout << "difference to the model in \"" << output.blob << "\": " << output.largest_difference << " of "
              << output.largest_value << " (" << output.share() << ")" << std::endl;
    if (output.share() <= kTolerance) continue;
    LOG_WARNING << "\"" << output.blob << "\" differs from the model by " << output.share()
                << " of its largest number: do not rely on the net before you know why";
  }
}

int import_command(const FileCommand& command) {
  ImportFlags flags;
  const FileWords words = read_file_command(command, flags, 1, 1);
  if (words.done) return words.exit_code;
  require_beginning_of_names("-output", flags.output());
  if (flags.batch() < 0) throw Error(ErrorKind::kUsage, str("-batch is ", flags.batch()), "give at least 1");
  const std::string &path = words.words[0], prefix = flags.output();
  const OnnxImportOptions options{.batch = flags.batch(), .shapes = named_shapes(flags.shapes())};
  require_others_than_read("-output", {prefix + ".prototxt", prefix + ".caffemodel"}, {path});
  require_writable_prefix("a net with prefix", prefix);
  const ImportedNet imported = import_onnx(read_onnx_file(path), path, options);
  write_weights(prefix + ".caffemodel", imported.net);
  write_text_proto(prefix + ".prototxt", without_arrays(imported.net));
  note_types_of_forks(imported);
  std::cout << "wrote " << prefix << ".prototxt and " << prefix << ".caffemodel: " << imported.net.layer_size()
            << " layers\n";
  print_blobs("input", imported.inputs);
  print_blobs("output", imported.outputs);
  if (flags.check() != "off" && !flags.check().empty()) print_check(flags, check_import(flags, path, imported));
  return 0;
}

[[maybe_unused]] const bool registered_import = register_file_action(
    {"import", "MODEL.onnx -output PREFIX", "make a net of Caffe from a model of ONNX", import_command});

}  // namespace
}  // namespace robusta
