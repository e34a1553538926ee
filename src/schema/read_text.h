/// Nets and solvers from text files (prototxt).
///
/// Every form that Caffe reads is read, of any generation and fork, and comes out in the newest form. All failures are
/// Error{kConfig} at "file:line" with the nearest known name; nothing is printed by protobuf.
#pragma once

#include <string>

#include "schema/source.h"
#include "schema/upgrade.h"

namespace robusta {

/// Reads a net and applies all upgrades (upgrade.h). What they did is logged, or put into `notes` when there is one.
/// A net without layers is an error.
NetDef read_net(const std::string& path, UpgradeNotes* notes = nullptr);

/// The same from memory; `name` stands for the file in messages, and a net may be empty.
NetDef parse_net(const std::string& text, const std::string& name, UpgradeNotes* notes = nullptr);

/// A net that was made by a program, or read from a binary file. Upgraded like one from text.
NetDef net_from(const caffe::NetParameter& param, const std::string& file, UpgradeNotes* notes = nullptr);

/// The net `param` inside a solver's file, at `field` ("net_param", "test_net_param[1]"), with the lines of its layers.
/// Upgraded like one of its own file; Caffe leaves such a net as it is.
NetDef net_inside(const SolverDef& solver, const std::string& field, const caffe::NetParameter& param);

/// Reads a solver. `solver_type` becomes `type`. A missing snapshot_prefix becomes the path without its extension, and
/// one that is an existing folder gets "/<file stem>" appended, as BVLC does.
SolverDef read_solver(const std::string& path);

/// The same from memory; `name` stands for the path.
SolverDef parse_solver(const std::string& text, const std::string& name);

}  // namespace robusta
