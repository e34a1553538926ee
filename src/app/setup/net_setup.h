/// What every command that has a net sets up around it: the device, the memory that may be taken, who chooses kernels.
#pragma once

#include <memory>
#include <string>

#include "app/flags/options.h"
#include "data/settings.h"
#include "device/device.h"
#include "net/memory_options.h"
#include "net/options.h"
#include "net/tuning.h"
#include "solver/ranks/ranks.h"

namespace robusta {

/// Outlives the nets that are built with it.
struct NetSetup {
  std::shared_ptr<Device> device;  ///< shared with the nets
  MemoryOptions memory;
  std::unique_ptr<RecordingTuner> tuner;  ///< null: kernels choose by a fixed rule

  /// For a net by itself.
  NetOptions net_options(const Options& options, caffe::Phase phase) const;
};

/// Collective. Throws Error{kUsage} for flags that make no sense.
NetSetup set_up_nets(const Options& options, Ranks& ranks, std::shared_ptr<Device> device);

/// How the sources of nets read: -shuffle, -scaled_jpeg, -data_threads.
DataSettings data_settings(const Options& options);

}  // namespace robusta
