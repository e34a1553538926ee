// Flags of memory, and the speed of the link that large model support plans by.

#include "app/setup/memory.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>

#include "base/bytes.h"
#include "base/log.h"
#include "base/str.h"
#include "device/cpu/host_memory.h"
#include "robusta/error.h"

namespace robusta {
namespace {

/// "auto", or KB as IBM's program took them, but in 64 bits. Its document said that 0 is off, its code that 0 is for
/// every value; the code is what command lines were tried with.
LmsOptions parse_lms(const std::string& text) {
  LmsOptions lms;
  if (text == "auto") lms.mode = LmsOptions::Mode::kAuto;
  if (text.empty() || text == "auto") return lms;
  char* end = nullptr;
  const double kib = std::strtod(text.c_str(), &end);
  if (*end != 0 || std::isnan(kib)) {
    throw Error(ErrorKind::kUsage, "-lms \"" + text + "\" is neither auto nor a size in KB",
                "give -lms alone for what has to move, or -lms 1000 to move all values from 1000 KB on");
  }
  if (kib < 0) return lms;
  lms.mode = LmsOptions::Mode::kThreshold;
  lms.min_bytes = static_cast<size_t>(std::min(kib, 0x1p50) * 1024);
  return lms;
}

LmsOptions lms_flags(const Options& options) {
  LmsOptions lms = parse_lms(options.lms());
  lms.fraction = options.lms_frac();
  if (!(lms.fraction >= 0 && lms.fraction <= 1)) {
    throw Error(ErrorKind::kUsage, str("-lms_frac ", options.lms_frac(), " is no share of the memory"),
                "give a number from 0 to 1");
  }
  if (options.lms().empty() && lms.fraction > 0) lms.mode = LmsOptions::Mode::kAuto;
  const bool moves = lms.mode != LmsOptions::Mode::kOff;
  if (moves && !options.share_memory()) {
    throw Error(ErrorKind::kUsage, "-lms and -share_memory=false are both given",
                "leave one of them out: memory that is not shared is not free when its content has moved");
  }
  return lms;
}

/// Bytes per second of copies from page-locked memory to the device.
double measured_link(Device& device) {
  constexpr size_t kBytes = size_t{32} << 20;  // so many that the latency of a copy does not show
  constexpr int kCopies = 4;
  const DeviceBuffer there(device, kBytes);
  const std::shared_ptr<void> here = device.host_memory(kBytes);
  const std::unique_ptr<Stream> stream = device.make_stream();
  stream->copy_to_device(there.data(), here.get(), kBytes);  // the first one wakes the link up
  stream->synchronize();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kCopies; ++i) stream->copy_to_device(there.data(), here.get(), kBytes);
  stream->synchronize();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  return kCopies * static_cast<double>(kBytes) / std::max(seconds.count(), 1e-9);
}

std::shared_ptr<MemoryBudget> budget_of(const Options& options, const Device& device) {
  // For what libraries and drivers take besides, and for the outputs of test nets.
  constexpr size_t kLeftOver = 32;
  auto budget = std::make_shared<MemoryBudget>();
  const size_t given = size_flag(options.gpu_memory), free = device.free_memory();
  const bool capped = given > 0 && given <= free;
  if (given > free) {
    LOG_WARNING << "-gpu_memory " << options.gpu_memory() << " is more than " << device.name() << " has free, "
                << bytes_text(free);
  }
  budget->limit = capped ? given : free - free / kLeftOver;
  budget->source = capped ? "-gpu_memory" : "free now";
  return budget;
}

/// On the host only where somebody has set a limit beyond which processes are killed or get no memory; what Linux calls
/// available changes with what others do. Null: there is none, or so much is not there anyway. The program itself is
/// taken already; what libraries, threads and the log take later is little (7 MB with LeNet, measured).
std::shared_ptr<MemoryBudget> budget_of_host(int processes) {
  constexpr size_t kLibraries = size_t{16} << 20, kLeftOver = 32;
  const size_t group = control_groups_leave() / static_cast<size_t>(processes), address = address_space_leaves();
  const size_t limit = std::min(group, address);
  if (limit / 2 > available_host_memory()) return nullptr;  // version 1 has limits of exabytes
  auto budget = std::make_shared<MemoryBudget>();
  budget->limit = limit - std::min(limit, limit / kLeftOver + kLibraries);
  budget->source = address < group ? "`ulimit -v`" : "the limit of the control group";
  return budget;
}

}  // namespace

MemoryOptions memory_options(const Options& options, Device& device, int processes) {
  MemoryOptions memory;
  memory.lms = lms_flags(options);
  memory.lms.processes = processes;
  if (device.is_host()) {
    size_flag(options.gpu_memory);
    const bool asked = memory.lms.mode != LmsOptions::Mode::kOff || !options.gpu_memory().empty();
    if (asked) LOG_INFO << "-lms and -gpu_memory are for GPUs (-gpu): they change nothing on the CPU";
    memory.lms = {};
    memory.budget = budget_of_host(processes);
    return memory;
  }
  memory.budget = budget_of(options, device);
  if (!(options.link_gbs() >= 0)) {
    throw Error(ErrorKind::kUsage, str("-link_gbs ", options.link_gbs(), " is no speed"), "give GB per second");
  }
  const bool moves = memory.lms.mode != LmsOptions::Mode::kOff;
  if (options.link_gbs() > 0) {
    memory.rates.link = 1e9 * options.link_gbs();
  } else if (moves && device.kernel_kind() == "cuda") {
    memory.rates.link = measured_link(device);
    LOG_INFO << "Link to the host: " << memory.rates.link / 1e9 << " GB/s";
  }
  return memory;
}

int processes_of_host(const Ranks& ranks) {
  if (ranks.alone()) return 1;
  const std::vector<std::string>& hosts = ranks.topology().hosts;
  return static_cast<int>(std::count(hosts.begin(), hosts.end(), ranks.topology().host_of(ranks.rank())));
}

}  // namespace robusta
