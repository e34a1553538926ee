/// Rank files for Open MPI: which rank runs where, by IBM's rule rank = x*Y*Z + y*Z + z.
#pragma once

#include <string>
#include <vector>

namespace robusta {

/// The file for a grid on `hosts`, which are as many as there are groups of X ranks (a host may come twice); each rank
/// gets its share of the `cores` of its host, which must be as many as its ranks or more.
std::string rank_file(const std::vector<int>& dims, const std::vector<std::string>& hosts, int cores);

/// That file, introduced by a line, or why none is offered: with more ranks on a host than `cores` it would give cores
/// twice.
std::string rank_file_note(const std::vector<int>& dims, const std::vector<std::string>& hosts, int cores);

/// Cores of this machine, each counted once however many threads it runs.
int count_cores();

}  // namespace robusta
