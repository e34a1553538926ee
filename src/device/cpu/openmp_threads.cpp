// A thread needs the addresses of its stack, whether it touches them or not.

#include "device/cpu/openmp_threads.h"

#include <omp.h>
#include <sys/resource.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string_view>

#include "base/str.h"
#include "device/cpu/host_memory.h"
#include "robusta/error.h"

namespace robusta {
namespace {

constexpr size_t kMebi = size_t{1} << 20;
constexpr int kManyThreads = 1024;  // a large host has as many processors

size_t default_stack_bytes() {
  constexpr size_t kUnlimited = 2 * kMebi;  // glibc's, where `ulimit -s` is unlimited (pthread_create(3))
  rlimit limit{};
  return getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : kUnlimited;
}

/// As a shift of bytes; -1: there is no such unit.
int shift_of(std::string_view unit) {
  if (unit.empty()) return 10;
  constexpr std::string_view kUnits = "BKMG";
  const size_t index = kUnits.find(static_cast<char>(std::toupper(static_cast<unsigned char>(unit.front()))));
  return unit.size() == 1 && index != std::string_view::npos ? static_cast<int>(10 * index) : -1;
}

}  // namespace

size_t openmp_stack_bytes(const char* omp_stacksize) {
  if (!omp_stacksize) return default_stack_bytes();
  const char* const end = omp_stacksize + std::strlen(omp_stacksize);
  size_t number = 0;
  const auto [stop, error] = std::from_chars(omp_stacksize, end, number);
  const int shift = shift_of({stop, static_cast<size_t>(end - stop)});
  if (error != std::errc{} || shift < 0) return default_stack_bytes();  // libgomp warns, and passes over it
  return number > std::numeric_limits<size_t>::max() >> shift ? std::numeric_limits<size_t>::max() : number << shift;
}

void require_openmp_threads() {
  const int threads = omp_get_max_threads();
  if (threads > std::max(kManyThreads, 16 * omp_get_num_procs())) {
    throw Error(
        ErrorKind::kUsage,
        str("OMP_NUM_THREADS asks for ", threads, " threads, and there are ", omp_get_num_procs(), " processors"),
        "set it to a number of processors");
  }
  const size_t left = address_space_leaves(), stack = openmp_stack_bytes(std::getenv("OMP_STACKSIZE"));
  if (threads <= 1 || stack <= left / static_cast<size_t>(threads - 1)) return;
  throw Error(ErrorKind::kMemory,
              str(threads - 1, " further threads with stacks of ", stack / kMebi,
                  " MiB need more address space than the ", left / kMebi, " MiB that are left"),
              "raise `ulimit -v`, or lower OMP_NUM_THREADS or OMP_STACKSIZE");
}

}  // namespace robusta
