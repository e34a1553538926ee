// Linux has the words of a process in /proc/PID/cmdline, each with a zero byte behind it.

#include "base/own_command.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

namespace robusta {
namespace {

std::vector<std::string> words_of(const std::string& process) {
  std::ifstream in("/proc/" + process + "/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(in, word, '\0');) words.push_back(word);
  return words;
}

/// proc(5), stat: "pid (name) state parent ...", and the name may hold anything.
std::string parent_of(const std::string& process) {
  std::ifstream in("/proc/" + process + "/stat", std::ios::binary);
  std::string line, state, parent;
  std::getline(in, line, '\0');
  const size_t name_ends = line.rfind(')');
  if (name_ends == std::string::npos) return "";
  std::istringstream(line.substr(name_ends + 1)) >> state >> parent;
  return parent;
}

std::string as_command(const std::vector<std::string>& words) {
  std::string command;
  for (const std::string& word : words) {
    if (!command.empty()) command += ' ';
    command += shell_word(word);
  }
  return command;
}

/// A program of that name, or a script that an interpreter runs.
bool is_launcher(const std::vector<std::string>& words) {
  static constexpr std::string_view kNames[] = {"mpirun",  "mpiexec", "mpiexec.hydra", "orterun",
                                                "prterun", "ddlrun",  "srun"};
  for (size_t i = 0; i < std::min<size_t>(words.size(), 2); ++i) {
    const std::string name = std::filesystem::path(words[i]).filename().string();
    if (std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames)) return true;
  }
  return false;
}

}  // namespace

std::string shell_word(const std::string& word) {
  const std::string plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string own_command() { return as_command(words_of("self")); }

std::string launcher_command() {
  constexpr int kDeepest = 20;
  std::string found, process = parent_of("self");
  for (int depth = 0; depth < kDeepest && !process.empty() && process != "0"; ++depth) {
    const std::vector<std::string> words = words_of(process);
    if (is_launcher(words)) found = as_command(words);
    process = parent_of(process);
  }
  return found;
}

std::string own_directory() {
  std::error_code problem;
  return std::filesystem::current_path(problem).string();
}

}  // namespace robusta
