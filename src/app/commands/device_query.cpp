// caffe device_query: what this machine computes with.

#include <omp.h>
#include <sched.h>
#include <unistd.h>

#include <iostream>
#include <string>

#include "app/commands/commands.h"
#include "app/setup/devices.h"
#include "device/cpu/host_memory.h"
#include "device/cpu/processor.h"
#include "device/gpus.h"
#include "inspect/roofline.h"
#include "robusta/error.h"

namespace robusta {
namespace {

/// The widest set of vector instructions that the kernels can use here.
std::string vector_instructions() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return "AVX-512";
  if (__builtin_cpu_supports("avx2")) return "AVX2";
  if (__builtin_cpu_supports("avx")) return "AVX";
  return "SSE2";
#else
  return "unknown";
#endif
}

/// What multiplies numbers of 16 bits, by Linux's names for x86.
std::string sixteen_bits() {
#if !defined(__x86_64__)
  return "unknown";
#endif
  std::string found;
  for (const char* name : {"avx512_bf16", "avx512_fp16", "amx_bf16", "amx_fp16"}) {
    if (has_instructions(name)) found += (found.empty() ? "" : ", ") + std::string(name);
  }
  return found.empty() ? "none" : found;
}

int allowed_cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

double gib(double bytes) { return bytes / (1024.0 * 1024 * 1024); }

void print_gpu(const GpuInfo& gpu) {
  std::cout << "GPU " << gpu.ordinal << ": " << gpu.name << '\n'
            << "  memory: " << gib(static_cast<double>(gpu.memory)) << " GiB\n"
            << "  compute capability: " << gpu.capability << ", " << gpu.processors << " processors\n"
            << "  PCI id: " << gpu.pci_id << '\n'
            << "  peers:";
  for (const GpuPeer& peer : gpu.peers) std::cout << ' ' << peer.ordinal << " (" << peer.link << ')';
  std::cout << (gpu.peers.empty() ? " none\n" : "\n");
}

/// All GPUs, or those of -gpu.
void print_gpus(const Options& options) {
  if (!options.gpu().empty()) {
    for (const int ordinal : DeviceChoice(options).ordinals()) print_gpu(describe_gpu(ordinal));
    return;
  }
  try {
    const std::vector<GpuInfo> gpus = list_gpus();
    for (const GpuInfo& gpu : gpus) print_gpu(gpu);
    if (gpus.empty()) std::cout << "GPUs: none" << (gpus_supported() ? "\n" : " (this build has no GPU support)\n");
  } catch (const Error& error) {
    std::cout << "GPUs: none that can be used: " << error.cause() << "; " << error.fix() << '\n';
  }
}

void print_software() {
  for (const GpuSoftware& part : gpu_software()) {
    std::cout << part.name << ": " << (part.version.empty() ? "none" : part.version) << '\n';
  }
}

void print_processor() {
  const double total = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  const std::string model = processor_model();
  std::cout << "CPU: " << (model.empty() ? "unknown" : model) << '\n'
            << "  cores: " << sysconf(_SC_NPROCESSORS_ONLN) << " online, " << allowed_cores() << " for this process, "
            << omp_get_max_threads() << " threads will be used\n"
            << "  vector instructions: " << vector_instructions() << ", for 16 bits: " << sixteen_bits() << '\n'
            << "  memory: " << gib(total) << " GiB, " << gib(static_cast<double>(available_host_memory()))
            << " GiB available\n";
}

}  // namespace

int device_query_command(const Options& options) {
  print_gpus(options);
  print_software();
  print_processor();
  if (options.peak_seconds() > 0) std::cout << "  peaks: " << describe(measure_peaks(options.peak_seconds())) << '\n';
  return 0;
}

}  // namespace robusta
