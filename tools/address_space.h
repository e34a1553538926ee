/// Ends the program in words where `ulimit -v` leaves too little address space to begin with: OpenBLAS tries for ever
/// to get its buffers when it is loaded, and oneDNN crashes where it gets no memory for code. Likewise where `ulimit
/// -s` leaves a stack that the program and its threads would run over.
///
/// To be included by the file with main() of each program that has these libraries. Runs before the constructors of all
/// shared libraries.
#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include "early.h"
#include "robusta/error.h"

namespace robusta {

/// All at once, so that no reader sees a part.
ROBUSTA_EARLY inline void write_texts(int file, const char* first, const char* second, const char* third = "") {
  const char* const texts[] = {first, second, third};
  iovec parts[3];
  for (int i = 0; i < 3; ++i) {
    const char* end = texts[i];
    while (*end) ++end;
    parts[i].iov_base = const_cast<char*>(texts[i]);
    parts[i].iov_len = static_cast<size_t>(end - texts[i]);
  }
  [[maybe_unused]] const ssize_t written = ::writev(file, parts, 3);
}

/// A rank tells whoever started it, as one that has begun does (comm/liveness/exit_file.h).
ROBUSTA_EARLY inline void leave_code_of_memory(char** variables, const char* cause) {
  const char* const path = early_value(variables, "ROBUSTA_EXIT_FILE=");
  const char* const rank = early_value(variables, "OMPI_COMM_WORLD_RANK=");
  if (!path || !rank) return;
  constexpr int kForAll = 0644;
  const int file = ::open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kForAll);
  if (file < 0) return;  // another rank has told
  write_texts(file, "5 ", rank, cause);
  ::close(file);
}

ROBUSTA_EARLY inline bool has_address_space() {
  constexpr size_t kLeast = size_t{320} << 20;
  void* const probe = ::mmap(nullptr, kLeast, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (probe == MAP_FAILED) return false;
  ::munmap(probe, kLeast);
  return true;
}

ROBUSTA_EARLY inline bool has_stack() {
  constexpr rlim_t kLeast = rlim_t{256} << 10;
  rlimit limit{};
  return ::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kLeast;
}

ROBUSTA_EARLY inline void require_room(int argc, char** argv, char** variables) {
  const bool addresses = has_address_space();
  if (addresses && has_stack()) return;
  const char* name = argc > 0 ? argv[0] : "";
  for (const char* end = name; *end; ++end) {
    if (*end == '/') name = end + 1;
  }
  write_texts(STDERR_FILENO, name,
              addresses ? ": error: a stack of less than 256 KiB is too small to start with; raise `ulimit -s`\n"
                        : ": error: less than 320 MiB of address space are left to start with; raise `ulimit -v`\n");
  leave_code_of_memory(variables,
                       addresses ? " too small a stack to start with\n" : " too little address space to start with\n");
  _exit(static_cast<int>(ErrorKind::kMemory));
}

__attribute__((section(".preinit_array"), used)) static void (*room_check)(int, char**, char**) = require_room;

}  // namespace robusta
