#include "app/commands/devices.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "app/commands/flags.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/str.h"
#include "device/gpus.h"
#include "solver/files/weights.h"

namespace robusta {
namespace {

/// Owned by nobody: there is one for the process.
std::shared_ptr<Device> the_cpu() {
  return {&cpu_device(), [](Device*) {}};
}

/// With as much freedom as the flags leave its math.
std::shared_ptr<Device> opened(int ordinal) {
  std::shared_ptr<Device> device = open_gpu(ordinal);
  device->set_math({.tf32 = FLAGS_tf32, .deterministic = FLAGS_deterministic});
  device->set_graphs(FLAGS_cuda_graphs);
  return device;
}

int parse_ordinal(const std::string& text) {
  const bool digits = !text.empty() && text.size() < 5 &&
                      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (digits) return std::stoi(text);
  throw Error(ErrorKind::kUsage, str("-gpu \"", FLAGS_gpu, "\": \"", text, "\" is no id of a GPU"),
              "give ids separated by commas, such as 0 or 0,1, or all");
}

std::string gib(size_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GiB", static_cast<double>(bytes) / (1u << 30));
  return text;
}

void log_gpu(const GpuInfo& gpu) { LOG_INFO << "GPU " << gpu.ordinal << ": " << gpu.name << ", " << gib(gpu.memory); }

/// The ranks on this one's host, in order, this one among them.
std::vector<int> ranks_of_host(const Ranks& ranks) {
  const std::vector<std::string>& hosts = ranks.topology().hosts;
  std::vector<int> mine;
  for (int rank = 0; rank < ranks.count(); ++rank) {
    if (hosts[static_cast<size_t>(rank)] == hosts[static_cast<size_t>(ranks.rank())]) mine.push_back(rank);
  }
  return mine;
}

/// Two ranks compute on one GPU one after the other: that is rarely meant.
void refuse_sharing(Ranks& ranks, const std::string& pci_id) {
  const std::string place = ranks.topology().hosts[static_cast<size_t>(ranks.rank())] + " " + pci_id;
  const std::vector<uint64_t> places = ranks.gather(hash_bytes(place));
  if (FLAGS_share_gpu) return;
  ranks.together([&] {
    for (int rank = 0; rank < ranks.rank(); ++rank) {
      if (places[static_cast<size_t>(rank)] != places[static_cast<size_t>(ranks.rank())]) continue;
      throw Error(ErrorKind::kUsage, str("ranks ", rank, " and ", ranks.rank(), " would share GPU ", place),
                  "start as many ranks per host as it has GPUs, or let them share with -share_gpu");
    }
  });
}

/// This rank's choice, or none where a rank of the job has no GPU.
int choose_gpu(Ranks& ranks, const std::vector<GpuInfo>& gpus) {
  double without = gpus.empty() ? 1 : 0;
  ranks.sum({&without, 1});
  if (without > 0) return -1;
  const std::vector<int> mine = ranks_of_host(ranks);
  const auto place = static_cast<size_t>(std::find(mine.begin(), mine.end(), ranks.rank()) - mine.begin());
  // IBM's command lines say -gpu 0 for all ranks: only a list of several is a choice.
  const std::vector<int> listed = gpus_flag();
  return listed.size() > 1 ? listed[place % listed.size()] : static_cast<int>(place % gpus.size());
}

}  // namespace

std::vector<int> gpus_flag() {
  std::vector<int> ordinals;
  if (FLAGS_gpu == "all") {
    for (const GpuInfo& gpu : list_gpus()) ordinals.push_back(gpu.ordinal);
    if (ordinals.empty()) open_gpu(0);  // says what is missing
    return ordinals;
  }
  for (const std::string& text : split_list(FLAGS_gpu)) {
    const int ordinal = parse_ordinal(text);
    if (std::find(ordinals.begin(), ordinals.end(), ordinal) != ordinals.end()) {
      throw Error(ErrorKind::kUsage, str("-gpu ", FLAGS_gpu, " names GPU ", ordinal, " twice"));
    }
    ordinals.push_back(ordinal);
  }
  return ordinals;
}

void heed_solver_mode(const SolverDef& solver) {
  const caffe::SolverParameter& p = solver.param;
  const bool wanted = p.has_solver_mode() && p.solver_mode() == caffe::SolverParameter::GPU;
  if (!wanted || !FLAGS_gpu.empty()) return;
  if (gpus_supported() && !list_gpus().empty()) {
    FLAGS_gpu = std::to_string(p.device_id());
  } else {
    LOG_WARNING << solver.where("solver_mode") << ": solver_mode is GPU, but "
                << (gpus_supported() ? "there is none" : "this build has no GPU support") << ": training on the CPU";
  }
}

std::shared_ptr<Device> device_from_flags() {
  const std::vector<int> ordinals = gpus_flag();
  if (ordinals.empty()) {
    LOG_INFO << "Use CPU.";
    return the_cpu();
  }
  std::shared_ptr<Device> device = opened(ordinals[0]);
  LOG_INFO << "Use GPU with device ID " << ordinals[0];
  log_gpu(list_gpus()[static_cast<size_t>(ordinals[0])]);
  return device;
}

std::shared_ptr<Device> device_of_rank(Ranks& ranks) {
  if (ranks.alone()) return device_from_flags();
  if (FLAGS_gpu.empty()) {
    LOG_INFO << "Use CPU.";
    return the_cpu();
  }
  std::vector<GpuInfo> gpus;
  ranks.together([&] { gpus = gpus_supported() ? list_gpus() : gpus; });
  const int chosen = choose_gpu(ranks, gpus);
  if (chosen < 0 && ranks.in_threads()) {
    ranks.together([] { open_gpu(gpus_flag()[0]); });  // says what is missing
  }
  if (chosen < 0) {
    LOG_INFO << (gpus_supported() ? "Not every rank sees a GPU" : "This build has no GPU support")
             << ": -gpu is accepted, and all ranks train on the CPU.";
    return the_cpu();
  }
  std::shared_ptr<Device> device;
  ranks.together([&] { device = opened(chosen); });
  const GpuInfo& gpu = gpus[static_cast<size_t>(chosen)];
  refuse_sharing(ranks, gpu.pci_id);
  LOG_INFO << "[MPI:0   ] spreading GPUs per MPI rank";
  LOG_INFO << "[MPI:0   ]    use gpu[" << chosen << "]";
  log_gpu(gpu);
  return device;
}

}  // namespace robusta
