/// What scripts set for all that they build afterwards: device, seed, log.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <string>

namespace robusta::python {

/// The GPU of set_mode_gpu and set_device; -1: the processor.
int gpu_in_use();
/// The seed of the next net. After set_random_seed the same ones come in the same order, else others in every process.
uint64_t next_seed();
/// Of set_random_seed for a solver without one; -1: none was set.
int64_t seed_of_solver();
/// A str, bytes or path as the name of a file; TypeError for others.
std::string file_name(const pybind11::object& path);

void add_settings(pybind11::module_& module);

}  // namespace robusta::python
