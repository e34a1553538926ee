// caffe collect and caffe compare (Intel's): one pass of a net into a folder, and another one beside it.

#include <iostream>

#include "app/commands/commands.h"
#include "app/setup/chosen_net.h"
#include "app/setup/devices.h"
#include "app/setup/net_setup.h"
#include "base/log.h"
#include "inspect/layer_dump.h"
#include "robusta/error.h"
#include "solver/files/weights.h"

namespace robusta {
namespace {

/// Whether memory that holds nothing is overwritten, so that who reads it is found out.
bool fills_buffers(const Options& options) {
  const std::string& filler = options.buffer_filler();
  if (filler == "NaN" || filler == "nan") return true;
  if (filler == "0" || filler.empty()) return false;
  throw Error(ErrorKind::kUnsupported, "-buffer_filler " + filler, "give NaN, or 0 to leave buffers as they are");
}

/// A net that keeps what its layers compute, with the weights of -weights.
template <typename Use>
int with_kept_net(const Options& options, const std::string& action, const Use& use) {
  Ranks alone(DdlOptions{});
  const NetSetup setup = set_up_nets(options, alone, DeviceChoice(options).open(alone));
  ChosenNet chosen = choose_net(options, action);
  NetOptions net_options = setup.net_options(options, chosen.phase);
  net_options.keep_blobs = true;
  net_options.backward = chosen.phase == caffe::TRAIN && !options.forward_only();
  net_options.data.synthesize_missing = true;
  net_options.poison = fills_buffers(options);
  Net net(std::move(chosen.net), net_options);
  if (!options.weights().empty()) load_weights(split_list(options.weights()), net, "Weights");
  return use(net);
}

}  // namespace

int collect_command(const Options& options) {
  return with_kept_net(options, "collect", [&](Net& net) {
    const int64_t arrays = collect_pass(net, options.collect_dir());
    LOG_INFO << "Wrote " << arrays << " arrays of one pass into " << options.collect_dir();
    return 0;
  });
}

int compare_command(const Options& options) {
  if (!(options.epsilon() >= 0)) throw Error(ErrorKind::kUsage, "-epsilon is no distance", "give 0 or more");
  if (options.fast_compare_max() <= 0) throw Error(ErrorKind::kUsage, "-fast_compare_max must be at least 1");
  const CompareOptions compare{.epsilon = options.epsilon(),
                               .most_listed = options.fast_compare() ? options.fast_compare_max() : 0,
                               .stop_there = options.fast_compare(),
                               .output = options.compare_output_dir()};
  return with_kept_net(options, "compare",
                       [&](Net& net) { return compare_pass(net, options.collect_dir(), compare, std::cout) ? 1 : 0; });
}

}  // namespace robusta
