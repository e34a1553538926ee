// caffe export: a net with its weights as a file for other programs. One format so far: ONNX.

#include <charconv>
#include <iostream>

#include "app/commands/file_action.h"
#include "app/commands/written_files.h"
#include "base/log.h"
#include "base/str.h"
#include "exchange/onnx/check_model.h"
#include "exchange/onnx/export/export_net.h"
#include "exchange/onnx/file.h"
#include "robusta/error.h"
#include "schema/filter.h"
#include "schema/read_text.h"
#include "solver/files/weights.h"

namespace robusta {
namespace {

struct ExportFlags : FileFlags {
  Flag<std::string> onnx{this, "onnx", "", "the file to write"};
  Flag<std::string> model{this, "model", "", "the net: a prototxt of the TEST phase, train_val or deploy"};
  Flag<std::string> weights{this, "weights", "", "its weights, files separated by commas"};
  Flag<std::string> batch{this, "batch", "", "images per run: a number, or dynamic; else as the net says"};
  Flag<bool> nms{this, "nms", false, "DetectionOutput by TopK and NonMaxSuppression; else the model ends before it"};
  Flag<int32_t> level{this, "level", 0, "the level of the net's state"};
  Flag<std::string> stage{this, "stage", "", "the stages of the net's state, separated by commas"};
  Flag<std::string> check{this, "check", "python3",
                          "a Python with onnxruntime, which compares model and net after writing; off: none does"};
};

void require_export_flag(const Flag<std::string>& flag) {
  if (!flag().empty()) return;
  throw Error(ErrorKind::kUsage, "-" + flag.name() + " is missing", "caffe export --help says what is needed");
}

OnnxExportOptions export_options(const ExportFlags& flags) {
  OnnxExportOptions options{
      .weights = split_list(flags.weights()), .dynamic_batch = flags.batch() == "dynamic", .nms = flags.nms()};
  if (flags.batch().empty() || options.dynamic_batch) return options;
  const std::string& text = flags.batch();
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), options.batch);
  if (problem == std::errc() && end == text.data() + text.size() && options.batch > 0) return options;
  throw Error(ErrorKind::kUsage, "-batch \"" + text + "\" is no number from 1 on", "give a number, or dynamic");
}

NetDef net_for_test(const ExportFlags& flags) {
  const NetDef whole = read_net(flags.model());
  caffe::NetState state = whole.param.state();
  state.set_phase(caffe::TEST);
  state.set_level(flags.level());
  for (const std::string& stage : split_list(flags.stage())) state.add_stage(stage);
  const QuietLog quiet;
  return filter_net(whole, state);
}

/// Throws Error{kInternal} where the model computes something else than the net.
void report_check(const ExportFlags& flags, const ModelCheck& check) {
  constexpr double kMost = 1e-3;  // of the largest value: sums of other orders, over many layers
  for (const OutputDifference& output : check.outputs) {
    std::cout << "checked by onnxruntime: output " << output.blob << " differs by at most " << output.largest_difference
              << " (largest value " << output.largest_value << ")" << std::endl;
    if (output.share() <= kMost) continue;
    throw Error(
        ErrorKind::kInternal,
        str("output \"", output.blob, "\" of the model is not the net's: it differs by ", output.largest_difference),
        "please report it, with the net")
        .at(flags.onnx());
  }
}

void check_written(const ExportFlags& flags, OnnxExport& exported) {
  if (flags.check() == "off" || flags.check().empty()) return;
  const ModelCheck check = check_model(flags.onnx(), flags.check(), *exported.net, exported.inputs, exported.outputs);
  if (!check.ran) {
    std::cout << "not checked: " << check.why_not << std::endl;
    if (flags.check.given()) throw Error(ErrorKind::kUsage, "the check that -check asks for cannot run", check.why_not);
    return;
  }
  report_check(flags, check);
  if (exported.other_inputs.empty()) return;
  exported.net->reshape_inputs(exported.other_inputs);
  report_check(flags, check_model(flags.onnx(), flags.check(), *exported.net, exported.inputs, exported.outputs));
}

int export_command(const FileCommand& command) {
  ExportFlags flags;
  const FileWords words = read_file_command(command, flags, 0, 0);
  if (words.done) return words.exit_code;
  require_export_flag(flags.onnx);
  require_export_flag(flags.model);
  std::vector<std::string> read = split_list(flags.weights());
  read.push_back(flags.model());
  require_others_than_read("-onnx", {flags.onnx()}, read);
  OnnxExport exported = export_to_onnx(net_for_test(flags), export_options(flags));
  write_onnx_file(flags.onnx(), exported.model);
  std::cout << "wrote " << flags.onnx() << ": " << exported.model.graph().node_size() << " nodes, "
            << exported.model.ByteSizeLong() << " bytes" << std::endl;
  check_written(flags, exported);
  return 0;
}

[[maybe_unused]] const bool registered_export = register_file_action(
    {"export", "-onnx OUT -model M -weights W", "write a net with its weights as ONNX", export_command});

}  // namespace
}  // namespace robusta
