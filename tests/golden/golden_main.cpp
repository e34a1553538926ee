// golden_test [substring]: replays the recorded cases of the real Caffe in the folder ROBUSTA_GOLDEN_DIR (default
// ../shared/golden beside the source tree), each with the reference kernels and again with every fast backend forced;
// with the GPU's kernels emulated; and on the first GPU, if there is one, without TF32. Prints what failed and what is
// unsupported, then "N passed, N failed, N unsupported". Exits 1 if anything failed.

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <set>

#include "base/log.h"
#include "device/sim/sim_device.h"
#include "golden/case.h"
#include "support/kernel_checks.h"

namespace robusta::test {
namespace {

std::vector<Mode> modes() {
  static SimDevice emulated(size_t{4} << 30, 0, "emulated");
  std::vector<Mode> modes = {{"reference", "reference"},
                             {"native", "native"},
                             {"onednn", "onednn"},
                             {"fused", "auto"},
                             {"emulated GPU", "auto", &emulated}};
  // Sums of other orders than the recordings'.
  if (test_gpu()) modes.push_back({"GPU", "auto", test_gpu(), 1e-4});
  return modes;
}

std::vector<std::string> case_names(const std::string& filter) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(".")) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() == ".bin" && name.find(filter) != std::string::npos) names.insert(name);
  }
  return {names.begin(), names.end()};
}

Result replay(const std::string& name, const Mode& mode) {
  try {
    const Case golden(name, mode);
    if (const std::string part = unsupported_part(golden); !part.empty()) return {Outcome::kUnsupported, part};
    const std::string kind = golden.kind();
    if (kind == "solver") return replay_solver(name, mode);
    if (kind == "io") return replay_io(name, mode);
    if (kind == "net") return replay_net(name, mode);
    if (!golden.header("forwards").empty()) return replay_data(name, mode);
    return replay_layer(name, mode);
  } catch (const std::exception& error) {
    return {Outcome::kFailed, error.what()};
  }
}

}  // namespace

int run_golden(const std::string& filter) {
  const std::filesystem::path folder = golden_dir();
  if (!std::filesystem::is_directory(folder)) {
    std::cout << "SKIPPED: no recorded cases at " << folder.string() << " (set ROBUSTA_GOLDEN_DIR)\n";
    return 0;
  }
  std::filesystem::current_path(folder);
  const std::vector<Mode> all = modes();
  int passed = 0, failed = 0, unsupported = 0;
  for (const std::string& name : case_names(filter)) {
    for (const Mode& mode : all) {
      const Result result = replay(name, mode);
      const char* word = result.outcome == Outcome::kFailed ? "FAILED " : "unsupported ";
      if (result.outcome == Outcome::kPassed) ++passed;
      if (result.outcome == Outcome::kFailed) ++failed;
      if (result.outcome == Outcome::kUnsupported) ++unsupported;
      if (result.outcome != Outcome::kPassed) {
        std::cout << word << name << " [" << mode.name << "]: " << result.detail << "\n";
      }
      if (result.outcome == Outcome::kUnsupported) break;  // in every mode alike
    }
  }
  std::cout << passed << " passed, " << failed << " failed, " << unsupported << " unsupported\n";
  return failed > 0;
}

}  // namespace robusta::test

int main(int argc, char** argv) { return robusta::test::run_golden(argc > 1 ? argv[1] : ""); }
