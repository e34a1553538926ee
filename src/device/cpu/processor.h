/// The processor of this machine, for people and for the keys of records.
#pragma once

#include <string>

namespace robusta {

/// "AMD EPYC 9B45", as /proc/cpuinfo has it; empty where it does not say.
std::string processor_model();

/// Whether it, and the system, have a set of instructions, by Linux's name for it ("avx512_bf16").
bool has_instructions(const std::string& name);

/// Its vector instructions and the sizes of its caches, in eight hexadecimal digits: virtual machines call processors
/// of several generations by one name.
std::string processor_digest();

}  // namespace robusta
