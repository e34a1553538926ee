// As tools/caffe.cpp, with the interpreter's command line where the program starts itself again.

#include "program.h"

#include <pybind11/stl.h>

#include <fstream>
#include <string>
#include <vector>

#include "app/commands/commands.h"
#include "base/standard_streams.h"
#include "comm/affinity/omp_environment.h"

namespace robusta::python {
namespace {

/// Words as main() gets them; they live as long as `words`.
std::vector<char*> arguments(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> words_of_process() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(in, word, '\0');) words.push_back(word);
  return words;
}

int run_program(std::vector<std::string> words) {
  keep_standard_streams();
  std::vector<std::string> interpreter = words_of_process();
  apply_omp_environment(arguments(interpreter).data());
  return caffe_main(static_cast<int>(words.size()), arguments(words).data());
}

}  // namespace

void add_program(pybind11::module_& module) {
  module.def("_run_program", &run_program, pybind11::call_guard<pybind11::gil_scoped_release>());
}

}  // namespace robusta::python
