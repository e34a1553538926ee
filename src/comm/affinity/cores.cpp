// Linux's affinity masks, read before OpenMP binds its threads or from what OpenMP found, whichever is wider.
#include "comm/affinity/cores.h"

#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "base/str.h"

namespace robusta {

int Cores::count() const {
  int count = 0;
  for (const unsigned long long word : bits) count += std::popcount(word);
  return count;
}

std::string Cores::str() const {
  std::string list;
  for (int cpu = 0; cpu < kMost; ++cpu) {
    if (!has(cpu)) continue;
    const int first = cpu;
    while (cpu + 1 < kMost && has(cpu + 1)) ++cpu;
    list += robusta::str(list.empty() ? "" : ",", first);
    if (cpu > first) list += robusta::str('-', cpu);
  }
  return list;
}

Cores own_cores() {
  static_assert(Cores::kMost <= CPU_SETSIZE);
  Cores cores;
  // A bound OpenMP thread sees its own place alone; the library knows what it found.
  if (omp_get_proc_bind() != omp_proc_bind_false) {
    for (int place = 0; place < omp_get_num_places(); ++place) {
      std::vector<int> cpus(static_cast<size_t>(omp_get_place_num_procs(place)));
      omp_get_place_proc_ids(place, cpus.data());
      for (const int cpu : cpus) {
        if (cpu < Cores::kMost) cores.add(cpu);
      }
    }
    if (cores.count() > 0) return cores;
  }
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int cpu = 0; cpu < Cores::kMost; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cores.add(cpu);
  }
  return cores;
}

Cores share_of(const Cores& cores, int position, int sharers) {
  std::vector<int> cpus;
  for (int cpu = 0; cpu < Cores::kMost; ++cpu) {
    if (cores.has(cpu)) cpus.push_back(cpu);
  }
  const int count = static_cast<int>(cpus.size());
  if (count == 0) return cores;
  const int begin = position * count / sharers, end = std::max(begin + 1, (position + 1) * count / sharers);
  Cores share;
  for (int i = begin; i < end; ++i) share.add(cpus[static_cast<size_t>(i)]);
  return share;
}

void pin_to(const Cores& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int cpu = 0; cpu < Cores::kMost; ++cpu) {
    if (cores.has(cpu)) CPU_SET(cpu, &set);
  }
  if (CPU_COUNT(&set) > 0) ::sched_setaffinity(0, sizeof set, &set);
}

std::vector<int> spread_threads() {
  const Cores cores = own_cores();
  const int threads = omp_get_max_threads(), here = ::sched_getcpu();
  const bool is_bound = omp_get_proc_bind() != omp_proc_bind_false;
  if (is_bound || threads < 2 || threads != cores.count() || here < 0 || here >= Cores::kMost) return {};
  std::vector<int> places{here};
  for (int cpu = 0; cpu < Cores::kMost; ++cpu) {
    if (cores.has(cpu) && cpu != here) places.push_back(cpu);
  }
#pragma omp parallel num_threads(threads)
  {
    const auto thread = static_cast<size_t>(omp_get_thread_num());
    Cores own;
    own.add(places[thread]);
    pin_to(own);
    places[thread] = ::sched_getcpu();
    pin_to(cores);
  }
  return places;
}

}  // namespace robusta
