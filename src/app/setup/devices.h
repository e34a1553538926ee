/// What -gpu asks for, and the device that a rank gets.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/flags/options.h"
#include "device/device.h"
#include "device/gpus.h"
#include "schema/source.h"
#include "solver/ranks/ranks.h"

namespace robusta {

/// Which GPUs are wanted, if any. Refers to the options, which outlive it.
class DeviceChoice {
 public:
  explicit DeviceChoice(const Options& options) : options_(options), list_(options.gpu()) {}

  /// `solver_mode: GPU` with device_id stands for -gpu where that is not given; warned of where there is no GPU.
  void follow(const SolverDef& solver);

  /// The GPUs of -gpu ("0", "0,1", "all") in order; none: the CPU is to be used. Throws Error{kUsage} for what is no
  /// list of ids or names one twice, and whatever list_gpus() throws.
  std::vector<int> ordinals() const;

  /// The device of this rank; the machine's processors without -gpu. Collective.
  ///
  /// Alone it is the first GPU of -gpu. Under MPI -gpu only says that GPUs are wanted: every rank takes its place among
  /// the ranks of its host, modulo the GPUs that it sees, which may be its own alone. Learners in threads take those of
  /// -gpu in order. Throws Error{kUsage} on all ranks when two would share a GPU without -share_gpu,
  /// Error{kUnsupported} where there is no GPU to be had, unless ranks train together: then all use the CPU, and a line
  /// says so.
  std::shared_ptr<Device> open(Ranks& ranks) const;

  /// All GPUs of -gpu in order, for one process.
  std::vector<std::shared_ptr<Device>> open_all() const;

 private:
  std::shared_ptr<Device> open_alone() const;
  std::shared_ptr<Device> open_gpu_of_rank(Ranks& ranks, const std::vector<GpuInfo>& gpus, int ordinal) const;
  std::shared_ptr<Device> opened(int ordinal) const;
  int choose(Ranks& ranks, const std::vector<GpuInfo>& gpus) const;
  void refuse_sharing(Ranks& ranks, const std::string& pci_id) const;

  const Options& options_;
  std::string list_;
};

}  // namespace robusta
