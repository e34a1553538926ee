/// The single steps of upgrade.h, in their order. Each does nothing when the net does not need it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "schema/source.h"
#include "schema/upgrade_notes.h"

namespace robusta {

void upgrade_v0(NetDef* net, UpgradeNotes* notes);
void upgrade_transform(NetDef* net, UpgradeNotes* notes);
void upgrade_v1(NetDef* net, UpgradeNotes* notes);
void upgrade_input(NetDef* net, UpgradeNotes* notes);
void upgrade_batch_norm(NetDef* net, UpgradeNotes* notes);
/// Intel's program gives a BatchNorm with `filler` a scale and a shift of its own and then leaves out the Scale layer
/// that follows it (engine MKLDNN), or ignores `filler` (engine CAFFE): there is one pair, never two.
void upgrade_second_pairs(NetDef* net, UpgradeNotes* notes);
void upgrade_synonyms(NetDef* net, UpgradeNotes* notes);
void upgrade_3d(NetDef* net, UpgradeNotes* notes);

/// Gives the line of `old_path` also to `new_path`, for a setting that moves.
void move_line(LayerSource* source, const std::string& old_path, const std::string& new_path);

}  // namespace robusta
