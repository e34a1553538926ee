/// The accelerators of this machine.
///
/// A backend registers how its devices are listed and opened; a build without it has an absent file. ROBUSTA_SIM_GPUS
/// makes fake ones (`2:64M`: two with 64 MiB each) in place of the real ones, for tests of the whole program where
/// there is no GPU; `2:64M:emulated` lets them run the GPU's own kernels, emulated on the host. ROBUSTA_SIM_NCCL names
/// a library with NCCL's functions for them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/device.h"

namespace robusta {

/// Another GPU that this one reads and writes directly.
struct GpuPeer {
  int ordinal = 0;
  std::string link;  ///< "NVLink" or "PCIe"
};

struct GpuInfo {
  int ordinal = 0;
  std::string name;
  size_t memory = 0;       ///< bytes in all
  std::string capability;  ///< "9.0"
  std::string pci_id;      ///< "0000:3B:00.0": the same GPU for every process of a host
  int processors = 0;      ///< streaming multiprocessors
  std::vector<GpuPeer> peers;
};

/// A part of the machine's software and its version, "13.0"; "" where it is not there.
struct GpuSoftware {
  std::string name, version;
};

struct GpuBackend {
  std::string name;
  std::vector<GpuInfo> (*list)();
  std::shared_ptr<Device> (*open)(int ordinal);
  std::vector<GpuSoftware> (*software)();
  std::vector<std::string> (*nccl_files)();
};

bool register_gpus(const GpuBackend& backend);

/// True when this build can use GPUs, or fake ones are asked for.
bool gpus_supported();
/// All that this process may use. Throws Error{kDevice|kUnsupported} when a driver is there and does not serve.
std::vector<GpuInfo> list_gpus();
/// Driver and libraries, as they are at run time; none without a backend.
std::vector<GpuSoftware> gpu_software();
/// Where the NCCL that serves these GPUs may be, for find_nccl(); none where it cannot be.
std::vector<std::string> nccl_files();
/// Both throw Error{kUnsupported} when this build has no GPU support, Error{kUsage} when there is no such GPU,
/// and Error{kUnsupported} when there is none at all.
GpuInfo describe_gpu(int ordinal);
std::shared_ptr<Device> open_gpu(int ordinal);

}  // namespace robusta
