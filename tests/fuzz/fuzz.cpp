#include "fuzz.h"

#include <omp.h>

#include <filesystem>

#include "base/log.h"
#include "support/files.h"

namespace robusta::fuzz {
namespace {

/// One for all inputs of the process: making one takes longer than most targets.
const test::TempDir& folder() {
  static const test::TempDir folder;
  return folder;
}

/// What an input names relatively is looked for, and written, there.
void enter_folder() {
  static const bool entered = [] {
    std::filesystem::current_path(folder().path());
    omp_set_num_threads(1);
    return true;
  }();
  static_cast<void>(entered);
}

}  // namespace

std::map<std::string, Target>& targets() {
  static std::map<std::string, Target> all;
  return all;
}

bool register_target(const std::string& name, Target target) { return targets().emplace(name, target).second; }

void read_input(Target target, std::string_view input) {
  enter_folder();
  const QuietLog quiet;
  reads([&] { target(input); });
}

std::string file_of(std::string_view bytes, const std::string& name) {
  const std::string path = folder() / name;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  test::write_file(path, std::string(bytes));
  return path;
}

}  // namespace robusta::fuzz
