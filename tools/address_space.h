/// Ends the program in words where `ulimit -v` leaves too little address space to begin with: OpenBLAS tries for ever
/// to get its buffers when it is loaded, and oneDNN crashes where it gets no memory for code.
///
/// To be included by the file with main() of each program that has these libraries. Runs before the constructors of all
/// shared libraries.
#pragma once

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "robusta/error.h"

namespace robusta {

/// Nothing is initialised yet, a sanitizer's own memory neither: plain system calls alone.
__attribute__((no_sanitize("address", "thread", "undefined"))) inline void require_address_space(int argc, char** argv,
                                                                                                 char**) {
  constexpr size_t kLeast = size_t{320} << 20;
  void* const probe = ::mmap(nullptr, kLeast, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (probe != MAP_FAILED) {
    ::munmap(probe, kLeast);
    return;
  }
  const char *name = argc > 0 ? argv[0] : "", *end = name;
  for (; *end; ++end) {
    if (*end == '/') name = end + 1;
  }
  constexpr char kText[] = ": error: less than 320 MiB of address space are left to start with; raise `ulimit -v`\n";
  [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, name, static_cast<size_t>(end - name));
  written = ::write(STDERR_FILENO, kText, sizeof kText - 1);
  _exit(static_cast<int>(ErrorKind::kMemory));
}

__attribute__((section(".preinit_array"), used)) static void (*address_space_check)(int, char**,
                                                                                    char**) = require_address_space;

}  // namespace robusta
