// The entry of libFuzzer, for a program that holds one target.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "fuzz.h"

// The first input enters another folder, and libFuzzer gives an empty one before it reads the folders of its arguments.
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  static std::vector<std::string> words;
  static std::vector<char*> pointers;
  for (int i = 0; i < *argc; ++i) {
    const std::string word = (*argv)[i];
    const bool is_path = i > 0 && !word.empty() && word.front() != '-';
    words.push_back(is_path ? std::filesystem::absolute(word).string() : word);
  }
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  *argv = pointers.data();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace robusta::fuzz;
  static const Target target = targets().begin()->second;
  read_input(target, {reinterpret_cast<const char*>(data), size});
  return 0;
}
