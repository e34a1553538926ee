/// What differs between two files of one kind: nets, solvers, weights, states of trainings.
///
/// Files are told by what they hold. Nets and solvers are compared in the newest form, so a file and its upgrade are
/// equal; layers are matched by name, and by place among those of one name. Numbers that are no numbers on both sides
/// are equal.
#pragma once

#include <ostream>
#include <string>

namespace robusta {

struct DiffOptions {
  double epsilon = 0;  ///< numbers of weights and states that differ by no more than this are equal
};

/// Writes the differences to `out`, a word about equality where there are none, and returns whether there are any.
/// Throws Error{kUsage} for files of different kinds, Error{kConfig|kModel} for what cannot be read.
bool print_file_differences(std::ostream& out, const std::string& before, const std::string& after,
                            const DiffOptions& options);

}  // namespace robusta
