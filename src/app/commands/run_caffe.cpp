// The command line of `caffe`, from argv to the action.

#include <iostream>

#include "api/plugin/loader.h"
#include "app/commands/commands.h"
#include "app/commands/file_action.h"
#include "app/glog_sink.h"
#include "base/nearest.h"
#include "base/version.h"
#include "comm/affinity/cores.h"
#include "comm/affinity/omp_environment.h"
#include "comm/liveness/restart_code.h"
#include "ops/gemm.h"
#include "robusta/error.h"
#include "schema/dialect.h"
#include "solver/files/weights.h"

namespace robusta {
namespace {

struct Action {
  const char* name;
  const char* help;
  int (*run)(const Options&);
  bool passes = false;     ///< it runs nets, not only looks at them
  bool has_ranks = false;  ///< in one process, too (-sockets)
};

constexpr Action kActions[] = {
    {"train", "train or fine-tune a model", train_command, true, true},
    {"check", "look at everything that training needs, without training", check_command, false, true},
    {"evaluate", "score the snapshots of a training that goes on elsewhere", evaluate_command, true},
    {"find_lr", "train for a while with ever greater rates, and suggest one", find_lr_command, true, true},
    {"test", "score a model", test_command, true},
    {"test_detection", "test -detection", test_detection_command, true},
    {"time", "measure the time of each layer", time_command, true},
    {"plan", "show kernels, layouts, memory and the largest batch, without running", plan_command},
    {"device_query", "show the processors", device_query_command},
    {"collect", "write what each layer computes in one pass into a folder", collect_command, true},
    {"compare", "compare one pass with what collect has written", compare_command, true},
};

void print_usage(std::ostream& out, const Options& options) {
  out << "caffe: train, test and time Caffe nets\nusage: caffe ACTION [-flag value ...]\n\nactions:\n";
  for (const Action& action : kActions) {
    out << "  " << action.name << std::string(16 - std::string(action.name).size(), ' ') << action.help << '\n';
  }
  out << "\nactions on files, each with flags of its own (caffe ACTION --help):\n";
  for (const FileAction& action : file_actions()) {
    out << "  " << action.name << std::string(16 - std::string(action.name).size(), ' ') << action.help << '\n';
  }
  out << "\nflags, with their defaults:\n"
      << describe_flags(options)
      << "\nexamples:\n"
         "  caffe train -solver models/lenet/solver.prototxt\n"
         "  caffe train -solver models/lenet/solver.prototxt -snapshot auto\n"
         "  caffe test -model models/lenet/train_val.prototxt -weights models/lenet/lenet_iter_3000.caffemodel\n"
         "  caffe time -model models/bvlc_alexnet/train_val.prototxt -iterations 10\n";
}

const Action& find_action(const std::string& name) {
  std::vector<std::string> names;
  for (const Action& action : kActions) {
    if (action.name == name) return action;
    names.emplace_back(action.name);
  }
  for (const FileAction& action : file_actions()) {
    if (action.name == name) {
      throw Error(ErrorKind::kUsage, "the action " + name + " has to come first", "write: caffe " + name + " ...");
    }
    names.emplace_back(action.name);
  }
  throw Error(ErrorKind::kUsage, "unknown action \"" + name + "\"" + did_you_mean(name, names),
              "caffe --help lists all actions");
}

}  // namespace

int run_caffe(int argc, char** argv) {
  if (const FileAction* action = argc > 1 ? find_file_action(argv[1]) : nullptr) {
    log_to_glog(argv[0]);
    return action->run({*action, argc - 1, argv + 1});
  }
  Options options;
  const ForeignFlags of_the_log = flags_of_glog();
  const CommandLine line = options.read(argc, argv, &of_the_log);
  log_to_glog(argv[0]);
  if (line.version) {
    std::cout << "caffe version " << kCaffeVersion << " (Robusta " << kVersion << ")" << std::endl;
    return 0;
  }
  if (line.help || line.words.empty()) {
    print_usage(std::cout, options);
    return 0;
  }
  if (line.words.size() > 1) {
    throw Error(ErrorKind::kUsage, "\"" + line.words[1] + "\" is neither a flag nor a value", "give one action");
  }
  const Action& action = find_action(line.words[0]);
  tell_of_no_effect(options);
  refuse_wrong_numbers(options);
  if (!options.sockets().empty() && !action.has_ranks) {
    throw Error(ErrorKind::kUsage,
                str("-sockets is for actions with several ranks, and caffe ", action.name, " has one"),
                "leave it out; train, check and find_lr take it");
  }
  set_restart_code(options.restart_code());
  set_dialect(dialect_named(options.dialect()));
  std::jthread compiling;
  if (action.passes && options.gpu().empty()) {
    compiling = warm_up_gemm();
    // Ranks of one host, or of one process, take their shares of the processors first.
    if (launched_here() == 1 && options.sockets().empty()) spread_threads();
  }
  load_plugins(split_list(options.plugin()));
  return action.run(options);
}

}  // namespace robusta
