#include <gflags/gflags.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "app/commands/flags.h"
#include "base/nearest.h"
#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

bool is_integer(const std::string& text) {
  const size_t sign = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  return text.size() > sign && std::all_of(text.begin() + static_cast<std::ptrdiff_t>(sign), text.end(),
                                           [](unsigned char c) { return std::isdigit(c); });
}

/// Our own flags, and not the many that glog and gflags bring along.
std::vector<gflags::CommandLineFlagInfo> own_flags() {
  std::vector<gflags::CommandLineFlagInfo> all, own;
  gflags::GetAllFlags(&all);
  for (gflags::CommandLineFlagInfo& flag : all) {
    if (flag.filename.ends_with("app/commands/flags.cpp")) own.push_back(std::move(flag));
  }
  return own;
}

/// What may differ between the ranks of a job: rank 0's -ddl counts, the solvers' contents are compared, and the others
/// concern a rank alone.
bool may_differ(const std::string& flag) {
  constexpr const char* kNames[] = {"ddl", "solver", "gpu", "bvlc", "threshold", "engine", "log_json", "tune_cache"};
  return std::find(std::begin(kNames), std::end(kNames), flag) != std::end(kNames);
}

[[noreturn]] void unknown_flag(const std::string& name) {
  std::vector<std::string> names;
  for (const gflags::CommandLineFlagInfo& flag : own_flags()) names.push_back(flag.name);
  const std::string near = nearest(name, names);
  throw Error(ErrorKind::kUsage, "unknown flag -" + name + (near.empty() ? "" : " (did you mean -" + near + "?)"),
              "caffe --help lists all flags");
}

void set(const std::string& name, const std::string& value) {
  if (!gflags::SetCommandLineOption(name.c_str(), value.c_str()).empty()) return;
  throw Error(ErrorKind::kUsage, "-" + name + " cannot be \"" + value + "\"",
              "give a value of type " + gflags::GetCommandLineFlagInfoOrDie(name.c_str()).type);
}

/// Sets one flag. `next`: the word after it, or null. Returns whether that word was its value.
bool read_flag(const std::string& word, const std::string* next) {
  const size_t dashes = word.starts_with("--") ? 2 : 1, equal = word.find('=');
  const std::string name = word.substr(dashes, equal == std::string::npos ? equal : equal - dashes);
  gflags::CommandLineFlagInfo info;
  if (!gflags::GetCommandLineFlagInfo(name.c_str(), &info)) {
    const bool negated = name.starts_with("no") && gflags::GetCommandLineFlagInfo(name.c_str() + 2, &info);
    if (!negated || info.type != "bool" || equal != std::string::npos) unknown_flag(name);
    set(info.name, "false");
    return false;
  }
  if (equal != std::string::npos) {
    set(name, word.substr(equal + 1));
    return false;
  }
  if (info.type == "bool") {
    set(name, "true");
    return false;
  }
  if (name == "lms" && !(next && (is_integer(*next) || *next == "auto"))) {
    set(name, "auto");
    return false;
  }
  if (!next) throw Error(ErrorKind::kUsage, "-" + name + " needs a value", "give it as -" + name + " VALUE");
  set(name, *next);
  return true;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> flags_of_the_job() {
  std::vector<std::pair<std::string, std::string>> flags;
  for (const gflags::CommandLineFlagInfo& flag : own_flags()) {
    if (!may_differ(flag.name)) flags.emplace_back('-' + flag.name, flag.current_value);
  }
  return flags;
}

CommandLine read_command_line(int argc, char** argv) {
  CommandLine line;
  const std::vector<std::string> args(argv + 1, argv + argc);
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string& word = args[i];
    const std::string bare = word.substr(std::min(word.size(), word.find_first_not_of('-')));
    const bool flag = word.size() > 1 && word[0] == '-' && !bare.empty();
    if (!flag) {
      line.words.push_back(word);
    } else if (bare == "help" || bare == "h" || bare == "helpshort" || bare == "helpfull") {
      line.help = true;
    } else if (bare == "version") {
      line.version = true;
    } else if (read_flag(word, i + 1 < args.size() ? &args[i + 1] : nullptr)) {
      ++i;
    }
  }
  return line;
}

std::string describe_flags() {
  std::ostringstream text;
  std::string later;
  for (const gflags::CommandLineFlagInfo& flag : own_flags()) {
    if (is_of_later_part(flag.name)) {
      later += " -" + flag.name;
      continue;
    }
    text << "  -" << flag.name;
    if (flag.type != "bool") text << " (" << flag.type << ")";
    text << "  " << flag.description;
    if (!flag.default_value.empty()) text << " [" << flag.default_value << "]";
    text << '\n';
  }
  text << "\nknown, but not in this build:" << later << '\n';
  return text.str();
}

}  // namespace robusta
