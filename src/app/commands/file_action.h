/// Actions of `caffe` on files, which have flags of their own: deploy, summary and the like.
///
/// Such an action is the first word of the command line, and all words after it are its own, so that its flags neither
/// fill the help of `caffe` nor have to agree among ranks. It registers itself:
///
///     int summary(const FileCommand& command);  // returns the exit code, or throws
///     const bool registered = register_file_action({"summary", "MODEL", "layers, shapes, parameters", summary});
#pragma once

#include <string>
#include <vector>

#include "app/flags/flag_set.h"

namespace robusta {

struct FileCommand;

struct FileAction {
  const char* name;
  const char* arguments;  ///< the words it takes, as its usage writes them
  const char* help;       ///< what it does, in one line
  int (*run)(const FileCommand&);
};

/// The action and what follows it on the command line.
struct FileCommand {
  const FileAction& action;
  int argc;
  char** argv;  ///< argv[0] is the name of the action
};

/// What every action on files takes besides its own flags.
struct FileFlags : FlagSet {
  Flag<std::string> plugin{this, "plugin", "", "shared libraries with layers of your own, separated by commas"};
  Flag<std::string> dialect{this, "dialect", "", "the Caffe that is meant where forks mean different things"};
};

/// True, for initialising a static.
bool register_file_action(const FileAction& action);

/// By name.
std::vector<FileAction> file_actions();

/// Null where `name` is no action on files.
const FileAction* find_file_action(const std::string& name);

/// Reads the flags, loads the plugins and sets the dialect; the words that are no flags. With --help, and where there
/// are fewer than `least` or more than `most` words, it prints the usage: then `done` is true, and `exit_code` is the
/// program's. Throws Error{kUsage} for flags that are wrong.
struct FileWords {
  std::vector<std::string> words;
  bool done = false;
  int exit_code = 0;
};
FileWords read_file_command(const FileCommand& command, FileFlags& flags, size_t least, size_t most);

}  // namespace robusta
