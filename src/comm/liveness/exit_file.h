/// What the job ended by, for a script that started it.
///
/// A launcher cannot learn the exit code of a rank from mpirun, which returns a number of its own. It names a file in
/// the environment variable ROBUSTA_EXIT_FILE; the first process that ends with an error writes one line there:
/// `<code> <rank> <why>`.
#pragma once

#include <string>

namespace robusta {

/// Writes the line, whole or not at all, unless there is a file already or the variable is not set. Returns whether
/// this call wrote it. Never throws: a process that ends has no use for another error.
bool write_exit_file(int code, int rank, const std::string& why) noexcept;

}  // namespace robusta
