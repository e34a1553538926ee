/// What -gpu asks for, and the device that a rank gets.
#pragma once

#include <memory>
#include <vector>

#include "device/device.h"
#include "schema/source.h"
#include "solver/ranks/ranks.h"

namespace robusta {

/// The GPUs of -gpu ("0", "0,1", "all") in order; none: the CPU is to be used. Throws Error{kUsage} for what is no list
/// of ids or names one twice, and whatever list_gpus() throws.
std::vector<int> gpus_flag();

/// `solver_mode: GPU` with device_id stands for -gpu where that is not given; warned of where there is no GPU.
void heed_solver_mode(const SolverDef& solver);

/// The device of this rank; the machine's processors without -gpu. Collective.
///
/// Alone it is the first GPU of -gpu. Under MPI -gpu only says that GPUs are wanted: every rank takes its place among
/// the ranks of its host, modulo the GPUs that it sees, which may be its own alone. Learners in threads take those of
/// -gpu in order. Throws Error{kUsage} on all ranks when two would share a GPU without -share_gpu,
/// Error{kUnsupported} where there is no GPU to be had, unless ranks train together: then all use the CPU, and a line
/// says so.
std::shared_ptr<Device> device_of_rank(Ranks& ranks);

/// The same for a program that runs alone.
std::shared_ptr<Device> device_from_flags();

}  // namespace robusta
