// The first "model name" of /proc/cpuinfo (proc(5)): one processor stands for all.

#include "device/cpu/processor.h"

#include <fstream>

namespace robusta {

std::string processor_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name")) continue;
    const size_t begin = line.find_first_not_of(" \t", line.find(':') + 1);
    if (line.find(':') != std::string::npos && begin != std::string::npos) return line.substr(begin);
  }
  return "";
}

}  // namespace robusta
