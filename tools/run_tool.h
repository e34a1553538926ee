/// What the small programs have in common: flags, log on stderr, errors as one line and an exit code by kind.
#pragma once

#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "app/flags/flag_set.h"
#include "app/glog_sink.h"
#include "base/log.h"
#include "base/standard_streams.h"
#include "base/version.h"
#include "robusta/error.h"

namespace robusta {

/// The flags of a program that has none of its own.
struct NoFlags : FlagSet {};

/// Those of the programs that read or write a database.
struct DatabaseFlags : FlagSet {
  Flag<std::string> backend{this, "backend", "lmdb", "kind of database: lmdb, leveldb"};
};

inline std::string name_of(const char* program) {
  const std::string path = program;
  return path.substr(path.rfind('/') + 1);
}

/// Runs `body` with the words that are no flags; fewer than `least` or more than `most` of them print the usage.
/// Returns the exit code of the program.
template <typename Body>
int run_tool(int argc, char** argv, const std::string& usage, size_t least, size_t most, FlagSet& flags,
             const Body& body) {
  keep_standard_streams();
  const std::string name = name_of(argv[0]);
  const auto report = [&](const char* what, ErrorKind kind) {
    std::cerr << name << ": " << what << std::endl;
    return static_cast<int>(kind);
  };
  try {
    const ForeignFlags of_the_log = flags_of_glog();
    const CommandLine line = flags.read(argc, argv, &of_the_log);
    log_to_glog(argv[0]);
    if (line.version) {
      std::cout << name << " (Robusta " << kVersion << ")" << std::endl;
      return 0;
    }
    if (line.help || line.words.size() < least || line.words.size() > most) {
      std::cout << name << ": " << usage << "\n\n" << flags.describe();
      return static_cast<int>(ErrorKind::kUsage);  // after --help, too, as in Caffe's tools
    }
    body(line.words);
    return 0;
  } catch (const Error& error) {
    return report(error.what(), error.kind());
  } catch (const std::bad_alloc&) {
    return report("not enough memory", ErrorKind::kMemory);
  } catch (const std::exception& error) {
    return report(error.what(), ErrorKind::kInternal);
  }
}

/// The same for a program without flags.
template <typename Body>
int run_tool(int argc, char** argv, const std::string& usage, size_t least, size_t most, const Body& body) {
  NoFlags none;
  return run_tool(argc, argv, usage, least, most, none, body);
}

}  // namespace robusta
