// caffe deploy: flags, and what was done on stdout.

#include <iostream>

#include "app/commands/file_action.h"
#include "app/commands/written_files.h"
#include "app/flags/named_shapes.h"
#include "base/log.h"
#include "base/str.h"
#include "exchange/deploy/deploy.h"
#include "exchange/deploy/lint.h"
#include "exchange/deploy/rules.h"
#include "robusta/error.h"
#include "schema/read_text.h"
#include "solver/files/net_defs.h"
#include "solver/files/weights.h"

namespace robusta {
namespace {

struct DeployFlags : FileFlags {
  Flag<std::string> model{this, "model", "", "the net, as it was trained or as it was deployed before"};
  Flag<std::string> solver{this, "solver", "", "a solver, in place of -model: its first test net, else its train net"};
  Flag<std::string> weights{this, "weights", "", "caffemodel files, separated by commas; later ones win"};
  Flag<std::string> output{this, "output", "",
                           "writes this and .prototxt, .caffemodel and, if need be, .transform.json"};
  Flag<std::string> target{this, "target", "",
                           "rewrites what this toolchain cannot take: opencv, ncnn, mnn, openvino, rknn, tpu-mlir, "
                           "ascend, nnie, horizon, acuity, netron; any: all of them"};
  Flag<int32_t> batch{
      this, "batch", 0,
      "samples per pass of the deployed net; 0: 1 in place of data layers, and inputs stay as they are"};
  Flag<std::string> shapes{this, "shapes", "",
                           "shapes of inputs, in place of those of the data: NAME:1,3,224,224, several separated by "
                           "semicolons; the data need not be there then"};
  Flag<bool> fold{this, "fold", false, "folds BatchNorm and Scale into the convolution or inner product before them"};
  Flag<std::string> transform{this, "transform", "file",
                              "mean and scale of the data layer: file (PREFIX.transform.json says them), fold (the net "
                              "takes pixels), none"};
  Flag<bool> scores{this, "scores", false, "ends with the scores that losses read, without Softmax and Sigmoid"};
  Flag<std::string> blobs{this, "blobs", "", "the outputs to keep, separated by commas; all others go"};
  Flag<int32_t> level{this, "level", 0, "level for include and exclude rules"};
  Flag<std::string> stage{this, "stage", "", "stages for these, separated by commas"};
  Flag<bool> lint{this, "lint", false, "only reports what toolchains cannot take of the FILEs: nets, caffemodels"};
  Flag<bool> rules{this, "rules", false, "prints the table of rules"};
};

[[noreturn]] void refuse_deploy(const std::string& cause, const std::string& fix) {
  throw Error(ErrorKind::kUsage, "caffe deploy: " + cause, fix);
}

caffe::NetState state_of_deploy(const DeployFlags& flags) {
  caffe::NetState state;
  if (flags.level() != 0) state.set_level(flags.level());
  for (const std::string& stage : split_list(flags.stage())) state.add_stage(stage);
  return state;
}

/// The net, and what its solver adds to its state.
struct DeployChoice {
  NetDef net;
  caffe::NetState state;
};

DeployChoice choose_deploy(const DeployFlags& flags) {
  if (flags.model().empty() == flags.solver().empty())
    refuse_deploy("give one of -model and -solver", "see caffe deploy --help");
  DeployChoice chosen{{}, state_of_deploy(flags)};
  if (!flags.model().empty()) {
    chosen.net = read_net(flags.model());
    return chosen;
  }
  const SolverDef solver = read_solver(flags.solver());
  std::vector<NetSource> tests = test_nets_of(solver);
  NetSource source = tests.empty() ? train_net_of(solver) : std::move(tests.front());
  caffe::NetState state = source.extra;
  state.MergeFrom(chosen.state);
  return {std::move(source.net), state};
}

std::string deploy_list(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

/// `-output lenet` beside lenet.prototxt, the net that was trained, is soon typed.
void require_files_of_its_own(const DeployFlags& flags, const std::string& net) {
  std::vector<std::string> read = split_list(flags.weights());
  read.insert(read.end(), {net, flags.solver()});
  const std::string& prefix = flags.output();
  require_others_than_read("-output", {prefix + ".prototxt", prefix + ".caffemodel", prefix + ".transform.json"}, read);
}

int deploy_net(const DeployFlags& flags) {
  if (flags.weights().empty()) refuse_deploy("-weights is missing", "give the caffemodel that training has written");
  require_beginning_of_names("-output", flags.output());
  if (flags.batch() < 0) refuse_deploy(str("-batch ", flags.batch()), "give at least 1");
  const DeployChoice chosen = choose_deploy(flags);
  require_files_of_its_own(flags, chosen.net.file);
  const deploy::Deployed done = deploy::deploy(chosen.net, chosen.state,
                                               {.weights = split_list(flags.weights()),
                                                .output = flags.output(),
                                                .target = flags.target(),
                                                .batch = flags.batch(),
                                                .fold = flags.fold(),
                                                .scores = flags.scores(),
                                                .transform = deploy::transform_mode(flags.transform()),
                                                .blobs = split_list(flags.blobs()),
                                                .shapes = named_shapes(flags.shapes())});
  std::cout << "inputs: " << deploy_list(done.inputs) << "\noutputs: " << deploy_list(done.outputs)
            << "\nlargest difference: " << done.difference << " of the largest number of " << done.blob
            << "\nwritten: " << deploy_list(done.files) << std::endl;
  return 0;
}

int run_deploy(const FileCommand& command) {
  DeployFlags flags;
  const FileWords words = read_file_command(command, flags, 0, 10000);
  if (words.done) return words.exit_code;
  if (flags.rules()) {
    std::cout << deploy::rules_markdown();
    return 0;
  }
  if (!flags.lint()) {
    if (!words.words.empty())
      refuse_deploy("\"" + words.words[0] + "\" is no flag", "files without a flag go with -lint");
    return deploy_net(flags);
  }
  if (words.words.empty()) refuse_deploy("-lint without files", "name nets and caffemodels");
  const std::string target = flags.target().empty() ? "any" : flags.target();
  return deploy::lint(words.words, deploy::toolchains_named(target), state_of_deploy(flags), std::cout);
}

[[maybe_unused]] const bool registered_deploy =
    register_file_action({"deploy", "-model NET -weights FILES -output PREFIX | -lint FILE...",
                          "write a trained net for a device's toolchain", run_deploy});

}  // namespace
}  // namespace robusta
