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
/// `per_fla_fuse` of Concat: layers of their own in front of it.
void upgrade_permuting_concats(NetDef* net, UpgradeNotes* notes);
/// `relu` of Convolution, Deconvolution, InnerProduct and BatchNorm: a layer of its own, in place, as engine MKLDNN of
/// Intel's program computes it; left out where the engine is one that ignores it.
void upgrade_inner_relus(NetDef* net, UpgradeNotes* notes);
void upgrade_synonyms(NetDef* net, UpgradeNotes* notes);
void upgrade_3d(NetDef* net, UpgradeNotes* notes);
/// Synopsys' layers that are others of ours: depth to space, and DetectionOutput with a bottom for each head.
void upgrade_synopsys(NetDef* net, UpgradeNotes* notes);

/// Makes `layer` the one at `index`, with `source`.
void insert_layer(NetDef* net, int index, caffe::LayerParameter layer, LayerSource source);
/// For a part of the layer at `at`: of its phases, and with its name, "/" and `what` for name and top.
caffe::LayerParameter part_of_layer(const NetDef& net, int at, const char* type,
                                    const std::vector<std::string>& bottoms, const std::string& what);
/// Puts such a part in front of the layer, which stands at `*at` then. Returns its top.
std::string put_in_front(NetDef* net, int* at, caffe::LayerParameter part);

/// Gives the line of `old_path` also to `new_path`, for a setting that moves.
void move_line(LayerSource* source, const std::string& old_path, const std::string& new_path);

}  // namespace robusta
