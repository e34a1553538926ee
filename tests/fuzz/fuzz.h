/// What the fuzz targets share: a target reads one input, whatever its bytes are.
///
/// A target is one file of targets/, and registers itself under that file's name. Two programs run it: fuzz_test, on
/// every file of corpus/TARGET/ (replay_test.cpp), and with clang fuzz_TARGET, on what libFuzzer makes of them
/// (libfuzzer.cpp). A target that returns has read the input or refused it by an Error; anything else - a signal, a
/// report of a sanitizer, another exception, an Error that calls itself a defect, too much time or memory - is a
/// finding.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace robusta::fuzz {

using Target = void (*)(std::string_view input);

/// Of this program, by name.
std::map<std::string, Target>& targets();
/// True, for initialising a static.
bool register_target(const std::string& name, Target target);

/// Runs the target in an empty folder of its own and with one thread. Throws what is a finding.
void read_input(Target target, std::string_view input);

/// Calls read(), which may refuse what it reads: throws anything but an Error of the input.
template <typename Read>
void try_to(const Read& read);

/// The path of a file, in the folder in which targets run, that has these bytes.
std::string file_of(std::string_view bytes, const std::string& name = "input");

/// Throws std::logic_error where the Error calls itself a defect.
void require_of_input(const class RefusedInput& error);

}  // namespace robusta::fuzz
