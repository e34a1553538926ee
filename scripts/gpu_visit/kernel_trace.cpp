// Writes down what a CUDA program does on its GPU: each kernel, copy and fill, in CUDA graphs, too, with its time.
//
// A library that CUDA loads into the program (CUDA_INJECTION64_PATH names it) and that asks CUPTI, NVIDIA's interface
// for profilers, whose library KERNEL_TRACE_CUPTI names. When the program ends, the last 30,000 records are in the file
// KERNEL_TRACE: a line each, with begin and duration in ns, the number of the node of a graph (0: none), blocks, threads,
// registers, bytes and the name, tabs between them. kernel_times.py runs programs with it and reads that.

#include <cupti.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string>
#include <unordered_set>

namespace {

struct Record {
  uint64_t begin, end, node;
  long long blocks, threads, registers;
  uint64_t bytes;
  const char* name;
};

constexpr size_t kMostRecords = 30000, kBufferBytes = size_t{8} << 20;

/// CUPTI calls from threads of its own, until the program has ended: never destroyed.
struct Trace {
  std::mutex mutex;
  std::deque<Record> records;
  std::unordered_set<std::string> names;
  decltype(&cuptiActivityGetNextRecord) next_record = nullptr;
  decltype(&cuptiActivityFlushAll) flush = nullptr;

  void add(const CUpti_Activity& activity) {
    switch (activity.kind) {
      case CUPTI_ACTIVITY_KIND_KERNEL:
      case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
        const auto& k = reinterpret_cast<const CUpti_ActivityKernel9&>(activity);
        const char* name = names.insert(k.name ? k.name : "?").first->c_str();
        const long long blocks = 1LL * k.gridX * k.gridY * k.gridZ, threads = 1LL * k.blockX * k.blockY * k.blockZ;
        records.push_back({k.start, k.end, k.graphNodeId, blocks, threads, k.registersPerThread, 0, name});
        break;
      }
      case CUPTI_ACTIVITY_KIND_MEMCPY: {
        const auto& copy = reinterpret_cast<const CUpti_ActivityMemcpy5&>(activity);
        records.push_back({copy.start, copy.end, copy.graphNodeId, 0, 0, 0, copy.bytes, "copy"});
        break;
      }
      case CUPTI_ACTIVITY_KIND_MEMSET: {
        const auto& fill = reinterpret_cast<const CUpti_ActivityMemset4&>(activity);
        records.push_back({fill.start, fill.end, fill.graphNodeId, 0, 0, 0, fill.bytes, "fill"});
        break;
      }
      default:
        break;
    }
    if (records.size() > kMostRecords) records.pop_front();
  }
};

Trace& trace() {
  static Trace* const one = new Trace;
  return *one;
}

void CUPTIAPI give_buffer(uint8_t** buffer, size_t* size, size_t* most_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, kBufferBytes));
  *size = *buffer ? kBufferBytes : 0;
  *most_records = 0;  // as many as it holds
}

void CUPTIAPI take_buffer(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  const std::lock_guard lock(trace().mutex);
  for (CUpti_Activity* record = nullptr; trace().next_record(buffer, valid, &record) == CUPTI_SUCCESS;) {
    trace().add(*record);
  }
  std::free(buffer);
}

void write_down() {
  trace().flush(1);
  const std::lock_guard lock(trace().mutex);
  const char* const path = std::getenv("KERNEL_TRACE");
  std::FILE* const file = path ? std::fopen(path, "w") : nullptr;
  if (!file) return;
  for (const Record& r : trace().records) {
    std::fprintf(file, "%llu\t%llu\t%llu\t%lld\t%lld\t%lld\t%llu\t%s\n", static_cast<unsigned long long>(r.begin),
                 static_cast<unsigned long long>(r.end - r.begin), static_cast<unsigned long long>(r.node), r.blocks,
                 r.threads, r.registers, static_cast<unsigned long long>(r.bytes), r.name);
  }
  std::fclose(file);
}

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

/// False, with a line that says why, where there is nothing to ask.
bool begin() {
  const char* const path = std::getenv("KERNEL_TRACE_CUPTI");
  void* const library = dlopen(path ? path : "libcupti.so", RTLD_NOW);
  if (!library) {
    std::fprintf(stderr, "kernel_trace: %s\n", dlerror());
    return false;
  }
  decltype(&cuptiActivityEnable) enable = nullptr;
  decltype(&cuptiActivityRegisterCallbacks) call = nullptr;
  if (!find(library, "cuptiActivityEnable", enable) || !find(library, "cuptiActivityRegisterCallbacks", call) ||
      !find(library, "cuptiActivityGetNextRecord", trace().next_record) ||
      !find(library, "cuptiActivityFlushAll", trace().flush)) {
    std::fprintf(stderr, "kernel_trace: %s lacks a function of CUPTI's\n", path);
    return false;
  }
  bool good = call(give_buffer, take_buffer) == CUPTI_SUCCESS;
  for (const auto kind : {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET})
    good = good && enable(kind) == CUPTI_SUCCESS;
  if (!good) std::fprintf(stderr, "kernel_trace: CUPTI refuses to trace\n");
  return good;
}

}  // namespace

/// Called by CUDA when it begins.
extern "C" int InitializeInjection() {
  if (begin()) std::atexit(write_down);
  return 1;
}
