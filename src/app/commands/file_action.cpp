// The register of actions on files. A map that is made at its first use: the actions register themselves before main.

#include "app/commands/file_action.h"

#include <iostream>
#include <map>

#include "api/plugin/loader.h"
#include "app/glog_sink.h"
#include "base/str.h"
#include "robusta/error.h"
#include "schema/dialect.h"
#include "solver/files/weights.h"

namespace robusta {
namespace {

std::map<std::string, FileAction>& actions_by_name() {
  static std::map<std::string, FileAction> actions;
  return actions;
}

void print_file_usage(std::ostream& out, const FileAction& action, const FlagSet& flags) {
  out << "caffe " << action.name << ": " << action.help << "\nusage: caffe " << action.name << ' ' << action.arguments
      << " [-flag value ...]\n\nflags, with their defaults:\n"
      << flags.describe();
}

}  // namespace

bool register_file_action(const FileAction& action) { return actions_by_name().emplace(action.name, action).second; }

std::vector<FileAction> file_actions() {
  std::vector<FileAction> actions;
  for (const auto& [name, action] : actions_by_name()) actions.push_back(action);
  return actions;
}

const FileAction* find_file_action(const std::string& name) {
  const auto found = actions_by_name().find(name);
  return found == actions_by_name().end() ? nullptr : &found->second;
}

FileWords read_file_command(const FileCommand& command, FileFlags& flags, size_t least, size_t most) {
  const ForeignFlags of_the_log = flags_of_glog();
  const CommandLine line = flags.read(command.argc, command.argv, &of_the_log);
  if (line.help) {
    print_file_usage(std::cout, command.action, flags);
    return {.words = {}, .done = true};
  }
  if (line.words.size() < least || line.words.size() > most) {
    print_file_usage(std::cerr, command.action, flags);
    return {.words = {}, .done = true, .exit_code = static_cast<int>(ErrorKind::kUsage)};
  }
  set_dialect(dialect_named(flags.dialect()));
  load_plugins(split_list(flags.plugin()));
  return {.words = line.words};
}

}  // namespace robusta
