// The recipe that train, check, test, time and plan share.

#include "app/setup/net_setup.h"

#include "app/setup/memory.h"
#include "net/plan/precision.h"

namespace robusta {
namespace {

std::unique_ptr<RecordingTuner> make_tuner(const Options& options) {
  if (!options.autotune() || options.deterministic()) return nullptr;
  const std::string& file = options.tune_cache();
  return std::make_unique<RecordingTuner>(file.empty() ? default_tuning_cache() : file);
}

}  // namespace

NetSetup set_up_nets(const Options& options, Ranks& ranks, std::shared_ptr<Device> device) {
  NetSetup setup;
  setup.device = std::move(device);
  ranks.together([&] {
    setup.memory = memory_options(options, *setup.device, processes_of_host(ranks));
    setup.tuner = make_tuner(options);
  });
  return setup;
}

NetOptions NetSetup::net_options(const Options& options, caffe::Phase phase) const {
  NetOptions net;
  net.phase = phase;
  net.device = device.get();
  net.tuner = tuner.get();
  net.kernels = options.kernels();
  net.precision = precision_from(options.precision(), *device, tuner.get());
  net.share_memory = options.share_memory();
  // `global`: a net by itself has all of the batch, or plan's -ranks divide it.
  net.divide_batch = options.batch() == "global";
  if (!net.divide_batch) net.batch = batch_flag(options);
  net.data = data_settings(options);
  set_memory(net, memory);
  return net;
}

DataSettings data_settings(const Options& options) {
  DataSettings settings;
  settings.threads = options.data_threads();
  settings.shuffle = options.shuffle();
  settings.scaled_jpeg = options.scaled_jpeg();
  return settings;
}

}  // namespace robusta
