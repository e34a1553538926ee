// Rates without sparsity, of the makers' data sheets: "NVIDIA H100 Tensor Core GPU" (SXM5, 2023), "NVIDIA H200 Tensor
// Core GPU" (SXM, 2024), "NVIDIA A100 Tensor Core GPU" (80 GB SXM4, 2021), "NVIDIA Ada GPU Architecture" (white paper
// of 2023, RTX 4090, with sums in f32), "NVIDIA L4 Tensor Core GPU" (2023; its figures are with sparsity, here halved).

#include "device/described/gpu_rates.h"

#include "base/nearest.h"
#include "base/str.h"
#include "robusta/error.h"

namespace robusta {

std::span<const GpuRates> known_gpus() {
  constexpr double kTera = 1e12, kGiga = 1e9;
  constexpr auto gib = [](size_t count) { return count << 30; };
  static const GpuRates gpus[] = {
      {"h100", "H100 SXM", 989 * kTera, 494.5 * kTera, 67 * kTera, 3350 * kGiga, gib(80)},
      {"h200", "H200 SXM", 989 * kTera, 494.5 * kTera, 67 * kTera, 4800 * kGiga, gib(141)},
      {"a100", "A100 SXM 80 GB", 312 * kTera, 156 * kTera, 19.5 * kTera, 2039 * kGiga, gib(80)},
      {"rtx4090", "RTX 4090", 165.2 * kTera, 82.6 * kTera, 82.6 * kTera, 1008 * kGiga, gib(24)},
      {"l4", "L4", 121 * kTera, 60 * kTera, 30.3 * kTera, 300 * kGiga, gib(24)},
  };
  return gpus;
}

const GpuRates& gpu_rates(const std::string& key) {
  std::vector<std::string> keys;
  std::string list;
  for (const GpuRates& gpu : known_gpus()) {
    if (gpu.key == key) return gpu;
    keys.push_back(gpu.key);
    list += (list.empty() ? "" : ", ") + keys.back();
  }
  throw Error(ErrorKind::kUsage, str("no GPU \"", key, "\" is described", did_you_mean(key, keys)), "known: " + list);
}

}  // namespace robusta
