/// What the small programs have in common: flags, log on stderr, errors as one line and an exit code by kind.
#pragma once

#include <gflags/gflags.h>

#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "app/glog_sink.h"
#include "base/log.h"
#include "robusta/error.h"

namespace robusta {

/// Runs `body` with the words that are no flags; fewer than `least` or more than `most` of them print the usage.
/// Returns the exit code of the program.
template <typename Body>
int run_tool(int argc, char** argv, const std::string& usage, size_t least, size_t most, const Body& body) {
  gflags::SetUsageMessage(usage);
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  log_to_glog(argv[0]);
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < least || words.size() > most) {
    gflags::ShowUsageWithFlagsRestrict(argv[0], gflags::ProgramInvocationShortName());
    return static_cast<int>(ErrorKind::kUsage);
  }
  try {
    body(words);
    return 0;
  } catch (const Error& error) {
    std::cerr << gflags::ProgramInvocationShortName() << ": " << error.what() << std::endl;
    return error.exit_code();
  } catch (const std::bad_alloc&) {
    std::cerr << gflags::ProgramInvocationShortName() << ": not enough memory" << std::endl;
    return static_cast<int>(ErrorKind::kMemory);
  } catch (const std::exception& error) {
    std::cerr << gflags::ProgramInvocationShortName() << ": " << error.what() << std::endl;
    return static_cast<int>(ErrorKind::kInternal);
  }
}

}  // namespace robusta
