// The entry of libFuzzer, for a program that holds one target.

#include <cstddef>
#include <cstdint>

#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace robusta::fuzz;
  static const Target target = targets().begin()->second;
  read_input(target, {reinterpret_cast<const char*>(data), size});
  return 0;
}
