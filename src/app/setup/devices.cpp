// Opening the device of a rank: the CPU, the first GPU of -gpu, or a place among the ranks of the host.

#include "app/setup/devices.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <string>

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

int parse_ordinal(const std::string& list, const std::string& text) {
  const bool digits = !text.empty() && text.size() < 5 &&
                      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (digits) return std::stoi(text);
  throw Error(ErrorKind::kUsage, str("-gpu \"", list, "\": \"", text, "\" is no id of a GPU"),
              "give ids separated by commas, such as 0 or 0,1, or all");
}

std::string gib(size_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GiB", static_cast<double>(bytes) / (1u << 30));
  return text;
}

void log_gpu(const GpuInfo& gpu) { LOG_INFO << "GPU " << gpu.ordinal << ": " << gpu.name << ", " << gib(gpu.memory); }

/// Of one rank's GPU. Fixed in size, to be gathered.
struct ChosenGpu {
  int ordinal = 0;
  size_t memory = 0;
  char name[64] = {};
};

/// The GPU of each rank, in BVLC's words for learners of one process and in IBM's under MPI. Collective.
void log_gpus(Ranks& ranks, const GpuInfo& gpu) {
  ChosenGpu mine{.ordinal = gpu.ordinal, .memory = gpu.memory};
  std::snprintf(mine.name, sizeof mine.name, "%s", gpu.name.c_str());
  const std::vector<ChosenGpu> all = ranks.gather(mine);
  std::string list;
  if (!ranks.in_threads()) LOG_INFO << "[MPI:0   ] spreading GPUs per MPI rank";
  for (size_t rank = 0; rank < all.size(); ++rank) {
    char label[32];
    std::snprintf(label, sizeof label, "[MPI:%-4zu]", rank);
    if (!ranks.in_threads()) LOG_INFO << label << "    use gpu[" << all[rank].ordinal << "]";
    list += str(list.empty() ? "" : ", ", all[rank].ordinal);
  }
  LOG_INFO << "Using GPUs " << (ranks.in_threads() ? list : str(gpu.ordinal));
  std::set<std::string> said;
  for (const ChosenGpu& one : all) {
    const std::string text = str("GPU ", one.ordinal, ": ", one.name, ", ", gib(one.memory));
    if (said.insert(text).second) LOG_INFO << text;
  }
}

}  // namespace

std::vector<int> DeviceChoice::ordinals() const {
  std::vector<int> ordinals;
  if (list_ == "all") {
    for (const GpuInfo& gpu : list_gpus()) ordinals.push_back(gpu.ordinal);
    if (ordinals.empty()) open_gpu(0);  // says what is missing
    return ordinals;
  }
  for (const std::string& text : split_list(list_)) {
    const int ordinal = parse_ordinal(list_, text);
    if (std::find(ordinals.begin(), ordinals.end(), ordinal) != ordinals.end()) {
      throw Error(ErrorKind::kUsage, str("-gpu ", list_, " names GPU ", ordinal, " twice"));
    }
    ordinals.push_back(ordinal);
  }
  if (ordinals.empty() && !list_.empty()) throw Error(ErrorKind::kUsage, str("-gpu ", list_, " names no GPU"));
  return ordinals;
}

void DeviceChoice::follow(const SolverDef& solver) {
  const caffe::SolverParameter& p = solver.param;
  const bool wanted = p.has_solver_mode() && p.solver_mode() == caffe::SolverParameter::GPU;
  if (!wanted || !list_.empty()) return;
  if (gpus_supported() && !list_gpus().empty()) {
    list_ = std::to_string(p.device_id());
  } else {
    LOG_WARNING << solver.where("solver_mode") << ": solver_mode is GPU, but "
                << (gpus_supported() ? "there is none" : "this build has no GPU support") << ": training on the CPU";
  }
}

std::shared_ptr<Device> DeviceChoice::open(Ranks& ranks) const {
  if (ranks.alone() && ranks.options().sets.empty()) return open_alone();
  if (list_.empty()) {
    LOG_INFO << "Use CPU.";
    return the_cpu();
  }
  std::vector<GpuInfo> gpus;
  ranks.together([&] { gpus = gpus_supported() ? list_gpus() : gpus; });
  const int chosen = choose(ranks, gpus);
  if (chosen >= 0) return open_gpu_of_rank(ranks, gpus, chosen);
  if (ranks.in_threads()) {
    ranks.together([&] { open_gpu(ordinals()[0]); });  // says what is missing
  }
  LOG_INFO << (gpus_supported() ? "Not every rank sees a GPU" : "This build has no GPU support")
           << ": -gpu is accepted, and all ranks train on the CPU.";
  return the_cpu();
}

std::shared_ptr<Device> DeviceChoice::open_alone() const {
  const std::vector<int> listed = ordinals();
  if (listed.empty()) {
    LOG_INFO << "Use CPU.";
    return the_cpu();
  }
  std::shared_ptr<Device> device = opened(listed[0]);
  LOG_INFO << "Use GPU with device ID " << listed[0];
  log_gpu(list_gpus()[static_cast<size_t>(listed[0])]);
  return device;
}

std::vector<std::shared_ptr<Device>> DeviceChoice::open_all() const {
  std::vector<std::shared_ptr<Device>> devices;
  std::string list;
  for (const int ordinal : ordinals()) {
    devices.push_back(opened(ordinal));
    list += str(list.empty() ? "" : ", ", ordinal);
  }
  LOG_INFO << "Using GPUs " << list;
  const std::vector<GpuInfo> gpus = list_gpus();
  for (const int ordinal : ordinals()) log_gpu(gpus[static_cast<size_t>(ordinal)]);
  return devices;
}

std::shared_ptr<Device> DeviceChoice::open_gpu_of_rank(Ranks& ranks, const std::vector<GpuInfo>& gpus,
                                                       int ordinal) const {
  std::shared_ptr<Device> device;
  ranks.together([&] { device = opened(ordinal); });
  const GpuInfo& gpu = gpus[static_cast<size_t>(ordinal)];
  refuse_sharing(ranks, gpu.pci_id);
  log_gpus(ranks, gpu);
  return device;
}

/// With as much freedom as the flags leave its math.
std::shared_ptr<Device> DeviceChoice::opened(int ordinal) const {
  std::shared_ptr<Device> device = open_gpu(ordinal);
  device->set_math({.tf32 = options_.tf32(), .deterministic = options_.deterministic()});
  device->set_graphs(options_.cuda_graphs());
  return device;
}

/// This rank's GPU, or -1 where a rank of the job has none.
int DeviceChoice::choose(Ranks& ranks, const std::vector<GpuInfo>& gpus) const {
  double without = gpus.empty() ? 1 : 0;
  ranks.sum({&without, 1});
  if (without > 0) return -1;
  const auto place = static_cast<size_t>(ranks.place_on_host());
  // IBM's command lines say -gpu 0 for all ranks: only a list of several is a choice.
  const std::vector<int> listed = ordinals();
  return listed.size() > 1 ? listed[place % listed.size()] : static_cast<int>(place % gpus.size());
}

/// Two ranks compute on one GPU one after the other: that is rarely meant.
void DeviceChoice::refuse_sharing(Ranks& ranks, const std::string& pci_id) const {
  const std::string place = ranks.topology().host_of(ranks.rank()) + " " + pci_id;
  const std::vector<uint64_t> places = ranks.gather(hash_bytes(place));
  if (options_.share_gpu()) return;
  ranks.together([&] {
    const auto me = places.begin() + ranks.rank(), other = std::find(places.begin(), me, *me);
    if (other == me) return;
    throw Error(ErrorKind::kUsage,
                str("ranks ", other - places.begin(), " and ", ranks.rank(), " would share GPU ", place),
                "start as many ranks per host as it has GPUs, or let them share with -share_gpu");
  });
}

}  // namespace robusta
