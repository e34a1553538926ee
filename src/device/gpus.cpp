// Which GPUs there are: CUDA's, or fake ones that the environment asks for in tests.

#include "device/gpus.h"

#include <cstdio>
#include <cstdlib>
#include <optional>

#include "base/str.h"
#include "device/sim/sim_device.h"
#include "robusta/error.h"

namespace robusta {
namespace {

std::optional<GpuBackend>& backend() {
  static std::optional<GpuBackend> the_one;
  return the_one;
}

struct FakeGpus {
  int count = 0;
  size_t memory = 0;
  std::string kernels = "cpu";
};

/// COUNT:MEMORY[K|M|G][:KERNELS].
std::optional<FakeGpus> fake_gpus() {
  const char* text = std::getenv("ROBUSTA_SIM_GPUS");
  if (!text || !*text) return std::nullopt;
  FakeGpus fake;
  char unit = 'M', kernels[16] = "cpu";
  unsigned long long memory = 0;
  const int read = std::sscanf(text, "%d:%llu%c:%15[a-z]", &fake.count, &memory, &unit, kernels);
  const int shift = unit == 'K' ? 10 : unit == 'M' ? 20 : unit == 'G' ? 30 : -1;
  fake.kernels = kernels;
  const bool known = fake.kernels == "cpu" || fake.kernels == "emulated";
  if (read < 3 || fake.count < 0 || shift < 0 || !known) {
    throw Error(ErrorKind::kUsage, str("ROBUSTA_SIM_GPUS=", text, " is not COUNT:MEMORY"), "write for example 2:64M");
  }
  fake.memory = static_cast<size_t>(memory) << shift;
  return fake;
}

GpuInfo describe_fake(const FakeGpus& fake, int ordinal) {
  GpuInfo info;
  info.ordinal = ordinal;
  info.name = "sim";
  info.memory = fake.memory;
  info.capability = "0.0";
  info.pci_id = str("sim:", ordinal);
  info.processors = 1;
  for (int other = 0; other < fake.count; ++other) {
    if (other != ordinal) info.peers.push_back({other, "PCIe"});
  }
  return info;
}

}  // namespace

bool register_gpus(const GpuBackend& it) {
  backend() = it;
  return true;
}

bool gpus_supported() { return backend() || fake_gpus(); }

std::vector<GpuInfo> list_gpus() {
  if (const auto fake = fake_gpus()) {
    std::vector<GpuInfo> gpus;
    for (int i = 0; i < fake->count; ++i) gpus.push_back(describe_fake(*fake, i));
    return gpus;
  }
  return backend() ? backend()->list() : std::vector<GpuInfo>{};
}

std::vector<GpuSoftware> gpu_software() { return backend() ? backend()->software() : std::vector<GpuSoftware>{}; }

std::vector<std::string> nccl_files() {
  if (!fake_gpus()) return backend() ? backend()->nccl_files() : std::vector<std::string>{};
  const char* file = std::getenv("ROBUSTA_SIM_NCCL");
  return file && *file ? std::vector<std::string>{file} : std::vector<std::string>{};
}

GpuInfo describe_gpu(int ordinal) {
  if (!gpus_supported()) {
    throw Error(ErrorKind::kUnsupported, "-gpu: this build has no GPU support",
                "leave -gpu out: the CPU is used; or build where the CUDA toolkit is found");
  }
  const std::vector<GpuInfo> gpus = list_gpus();
  const auto count = static_cast<int>(gpus.size());
  if (ordinal < 0 || ordinal >= count) {
    // Without any, the command line is right and the machine lacks what it asks for.
    throw Error(count == 0 ? ErrorKind::kUnsupported : ErrorKind::kUsage,
                str("there is no GPU ", ordinal, ": this process sees ", count),
                count == 0 ? "leave -gpu out to use the CPU; see nvidia-smi and CUDA_VISIBLE_DEVICES"
                           : str("give one of 0 to ", count - 1, ", or -gpu all"));
  }
  return gpus[static_cast<size_t>(ordinal)];
}

std::shared_ptr<Device> open_gpu(int ordinal) {
  describe_gpu(ordinal);  // throws where there is none
  if (const auto fake = fake_gpus()) {
    return std::make_shared<SimDevice>(fake->memory, 0, fake->kernels, describe_fake(*fake, ordinal).pci_id);
  }
  return backend()->open(ordinal);
}

}  // namespace robusta
