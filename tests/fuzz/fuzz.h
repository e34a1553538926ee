/// What the fuzz targets share: a target reads one input, whatever its bytes are.
///
/// A target is one file of targets/, and registers itself under that file's name. Two programs run it: fuzz_test, on
/// every file of corpus/TARGET/ (replay_test.cpp), and with clang fuzz_TARGET, on what libFuzzer makes of these
/// (libfuzzer.cpp). A target that comes back has read the input or refused it by Errors; anything else - a signal, a
/// report of a sanitizer, another exception, an Error that calls itself a defect, much time or memory - is a finding.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

#include "robusta/error.h"

namespace robusta::fuzz {

using Target = void (*)(std::string_view input);

/// Of this program, by name.
std::map<std::string, Target>& targets();
/// True, for initialising a static.
bool register_target(const std::string& name, Target target);

/// Runs the target with one thread and without a log, in a folder of this process. Throws what is a finding.
void read_input(Target target, std::string_view input);

/// Puts these bytes into a file of that folder; its path.
std::string file_of(std::string_view bytes, const std::string& name = "input");

/// Calls read(), which may refuse what it reads. Returns whether it did not.
template <typename Read>
bool reads(const Read& read) {
  try {
    read();
    return true;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInternal) {
      throw std::logic_error(std::string("this is called a defect: ") + error.what());
    }
    return false;
  }
}

}  // namespace robusta::fuzz
