/// Fake GPUs with a fake NCCL, for this process and those that it starts.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <string>

#include "support/places.h"

namespace robusta::test {

inline std::string fake_nccl() { return tools_dir() + "/../tests/libfake_nccl.so"; }

/// Sets the variables as long as it lives.
class SimNccl {
 public:
  /// `gpus` as in ROBUSTA_SIM_GPUS; `trouble` as in fake_nccl.cpp.
  explicit SimNccl(const std::string& gpus, const std::string& trouble = "", bool has_nccl = true) {
    setenv("ROBUSTA_SIM_GPUS", gpus.c_str(), 1);
    if (has_nccl) setenv("ROBUSTA_SIM_NCCL", fake_nccl().c_str(), 1);
    if (!trouble.empty()) setenv("ROBUSTA_FAKE_NCCL", trouble.c_str(), 1);
  }
  ~SimNccl() {
    for (const char* name : {"ROBUSTA_SIM_GPUS", "ROBUSTA_SIM_NCCL", "ROBUSTA_FAKE_NCCL"}) unsetenv(name);
  }
  SimNccl(const SimNccl&) = delete;
  SimNccl& operator=(const SimNccl&) = delete;

  /// False in a bundle, which carries no fakes.
  static bool is_there() { return access(fake_nccl().c_str(), R_OK) == 0; }
};

}  // namespace robusta::test
