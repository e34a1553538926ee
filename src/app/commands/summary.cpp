// caffe summary: a net that is planned and never run, as a table or as JSON.

#include <iostream>

#include "app/commands/file_action.h"
#include "base/log.h"
#include "base/nearest.h"
#include "inspect/net_summary.h"
#include "robusta/error.h"
#include "solver/files/net_defs.h"
#include "solver/files/weights.h"

namespace robusta {
namespace {

struct SummaryFlags : FileFlags {
  Flag<std::string> phase{this, "phase", "", "TRAIN or TEST; TRAIN unless the net is one for testing alone"};
  Flag<int32_t> level{this, "level", 0, "level of the net's state"};
  Flag<std::string> stage{this, "stage", "", "stages of the net's state, separated by commas"};
  Flag<int32_t> batch{this, "batch", 0, "samples per batch, instead of that of every data layer; 0: as the net says"};
  Flag<bool> json{this, "json", false, "print one JSON object instead of a table"};
};

NetInPhase net_of(const std::string& path, const SummaryFlags& flags) {
  const std::string& text = flags.phase();
  const std::vector<std::string> stages = split_list(flags.stage());
  if (text.empty()) return net_in_its_phase(path, flags.level(), stages);
  if (text == "TRAIN") return {net_in_state(path, caffe::TRAIN, flags.level(), stages), caffe::TRAIN};
  if (text == "TEST") return {net_in_state(path, caffe::TEST, flags.level(), stages), caffe::TEST};
  throw Error(ErrorKind::kUsage, "-phase \"" + text + "\"" + did_you_mean(text, {"TRAIN", "TEST"}),
              "known: TRAIN, TEST");
}

int summary_command(const FileCommand& command) {
  SummaryFlags flags;
  const FileWords read = read_file_command(command, flags, 1, 1);
  if (read.done) return read.exit_code;
  if (flags.batch() < 0) throw Error(ErrorKind::kUsage, "-batch is negative", "give 1 or more");
  const QuietLog quiet;  // the lines of building a net would stand between those of the table
  const NetInPhase chosen = net_of(read.words[0], flags);
  NetOptions options;
  options.phase = chosen.phase;
  options.backward = options.phase == caffe::TRAIN;
  options.batch = flags.batch();
  options.plan_only = true;
  options.data.synthesize_missing = true;
  const Net net(chosen.net, options);
  const NetSummary summary = summarise(net);
  flags.json() ? print_summary_json(std::cout, summary) : print_summary(std::cout, summary);
  return 0;
}

[[maybe_unused]] const bool registered_summary = register_file_action(
    {"summary", "MODEL.prototxt", "shapes, parameters, FLOP and memory of each layer of a net", summary_command});

}  // namespace
}  // namespace robusta
