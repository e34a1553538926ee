// engine_counts [BATCH]: how many configurations cuDNN's heuristics offer for the convolutions of ResNet-50 (He et al.
// 2015, table 1) in bf16, on GPUs that are only described; and how many of them are timed.
//
// Prints a row per GPU and direction: the mean over the 53 convolutions of what is offered, of the engines behind it,
// of what is timed here, and of what PyTorch would time (torch.backends.cudnn.benchmark_limit, 10).

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "device/cuda/dnn/engines.h"
#include "layers/types/convolution/dnn_problem_cuda.h"
#include "robusta/error.h"

namespace robusta {
namespace {

/// What cuDNN wants to know of a GPU, beside what all of these have alike.
struct Described {
  const char* name;
  int version, processors, clock_khz, memory_clock_khz, threads, blocks, shared;
  int64_t memory, cache;
};

constexpr Described kGpus[] = {
    {"NVIDIA H100 80GB HBM3", 900, 132, 1980000, 2619000, 2048, 32, 232448, 85029158912, 52428800},
    {"NVIDIA A100-SXM4-80GB", 800, 108, 1410000, 1593000, 2048, 32, 166912, 85094825984, 41943040},
    {"NVIDIA GeForce RTX 4090", 890, 128, 2520000, 10501000, 1536, 24, 101376, 25393692672, 75497472},
    {"NVIDIA L4", 890, 58, 2040000, 6251000, 1536, 24, 101376, 23580639232, 50331648},
};

std::string json_of(const Described& gpu) {
  const auto number = [](const char* key, int64_t value) {
    return ", \"" + std::string(key) + "\": " + std::to_string(value);
  };
  return "{\"deviceName\": \"" + std::string(gpu.name) + "\"" + number("deviceVer", gpu.version) +
         number("multiProcessorCount", gpu.processors) + number("totalGlobalMem", gpu.memory) +
         number("smClockRateKHz", gpu.clock_khz) + number("memClockRateKHz", gpu.memory_clock_khz) +
         number("l2CacheSize", gpu.cache) + number("maxSharedMemoryPerBlockOptin", gpu.shared) +
         number("maxCtasPerSM", gpu.blocks) + number("maxThreadsPerSM", gpu.threads) +
         R"(, "driverVer": 13000, "cudaDeviceId": 0, "maxGridSize": [2147483647, 65535, 65535],
             "maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536, "warpSize": 32, "maxSharedMemoryPerBlock": 49152,
             "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536, "pciDeviceId": 0,
             "maxThreadsPerBlock": 1024, "isTccDriver": 0, "supportCoopLaunch": 1})";
}

dnn::Problem problem(int64_t batch, int64_t channels, int64_t outputs, int64_t extent, int64_t kernel, int64_t stride) {
  WindowAxis axis;
  axis.in = extent;
  axis.kernel = kernel;
  axis.stride = stride;
  axis.pad = kernel / 2;
  axis.out = (extent + 2 * axis.pad - kernel) / stride + 1;
  dnn::Problem problem;
  problem.geometry.batch = batch;
  problem.geometry.channels = channels;
  problem.geometry.num_output = outputs;
  problem.geometry.axes = {axis, axis};
  problem.channels_last = true;
  problem.type = DType::kBF16;
  return problem;
}

std::vector<dnn::Problem> resnet50(int64_t batch) {
  std::vector<dnn::Problem> all = {problem(batch, 3, 64, 224, 7, 2)};
  int64_t channels = 64, extent = 56;
  for (int stage = 0; stage < 4; ++stage) {
    constexpr int kBlocks[] = {3, 4, 6, 3};
    const int64_t width = int64_t{64} << stage, wide = 4 * width;
    for (int block = 0; block < kBlocks[stage]; ++block) {
      const int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      if (block == 0) all.push_back(problem(batch, channels, wide, extent, 1, stride));
      all.push_back(problem(batch, channels, width, extent, 1, stride));
      extent /= stride;
      all.push_back(problem(batch, width, width, extent, 3, 1));
      all.push_back(problem(batch, width, wide, extent, 1, 1));
      channels = wide;
    }
  }
  return all;
}

void count(const Described& gpu, dnn::Direction direction, const char* name,
           const std::vector<dnn::Problem>& problems) {
  const dnn::Target target = dnn::Target::described(json_of(gpu));
  constexpr size_t kAll = 1000, kTimed = 16, kPyTorch = 10;
  double offered = 0, engines = 0, timed = 0, pytorch = 0;
  size_t least = kAll, most = 0;
  for (const dnn::Problem& problem : problems) {
    std::string why_not;
    const auto graph = make_graph(direction, problem, target, why_not);
    if (!graph) throw Error(ErrorKind::kUnsupported, problem.key(direction) + ": " + why_not);
    std::set<std::string> numbers;
    const std::vector<dnn::Engine> found = find_engines(target, *graph, MathOptions{}, kAll);
    for (const dnn::Engine& engine : found) numbers.insert(engine.name.substr(0, engine.name.find('_')));
    offered += static_cast<double>(found.size());
    engines += static_cast<double>(numbers.size());
    timed += static_cast<double>(std::min(found.size(), kTimed));
    pytorch += static_cast<double>(std::min(found.size(), kPyTorch));
    least = std::min(least, found.size());
    most = std::max(most, found.size());
  }
  const auto mean = [&](double sum) { return sum / static_cast<double>(problems.size()); };
  std::printf("| %s | %s | %.1f (%zu to %zu) | %.1f | %.1f | %.1f |\n", gpu.name, name, mean(offered), least, most,
              mean(engines), mean(timed), mean(pytorch));
}

void count_all(int64_t batch) {
  std::printf("| GPU | pass | offered | engines | timed | PyTorch |\n|---|---|---|---|---|---|\n");
  const std::vector<dnn::Problem> problems = resnet50(batch);
  std::vector<dnn::Problem> inner(problems.begin() + 1, problems.end());  // nobody wants the gradient of images
  for (const Described& gpu : kGpus) {
    count(gpu, dnn::Direction::kForward, "forward", problems);
    count(gpu, dnn::Direction::kBackwardData, "data", inner);
    count(gpu, dnn::Direction::kBackwardFilters, "filters", problems);
  }
}

}  // namespace
}  // namespace robusta

int main(int argc, char** argv) try {
  robusta::count_all(argc > 1 ? std::max(1, std::atoi(argv[1])) : 256);
  return 0;
} catch (const robusta::Error& error) {
  std::fprintf(stderr, "engine_counts: %s\n", error.what());
  return 1;
}
