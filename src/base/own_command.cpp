// Linux has the words in /proc/self/cmdline, each with a zero byte behind it.

#include "base/own_command.h"

#include <filesystem>
#include <fstream>

namespace robusta {

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

std::string own_command() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::string command;
  for (std::string word; std::getline(in, word, '\0');) command += (command.empty() ? "" : " ") + shell_word(word);
  return command;
}

std::string own_directory() {
  std::error_code problem;
  return std::filesystem::current_path(problem).string();
}

}  // namespace robusta
