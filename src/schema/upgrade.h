/// Old generations of nets brought into the newest form, step by step as Caffe does it.
///
/// V0: `layers { layer { name type ... } bottom top }`, all settings flat. V1: `layers { name type: ENUM ... }`.
/// V2: `layer { name type: "String" ... }`.
#pragma once

#include <string>

#include "schema/source.h"
#include "schema/upgrade_notes.h"

namespace robusta {

/// Throws Error{kConfig} at `file` when settings were dropped, naming them.
void require_complete(const UpgradeNotes& notes, const std::string& file);

/// Applies, in this order: V0 to V1, transformation fields, V1 to V2, `input` fields, BatchNorm. Keeps net->sources
/// with the layers. Throws Error{kConfig} on what cannot be upgraded: an unknown old type, a padding layer without a
/// layer to pad, both generations in one net.
UpgradeNotes upgrade_net(NetDef* net);

/// `solver_type` to `type`. Returns whether there was anything to do; throws Error{kConfig} when both are given.
bool upgrade_solver(SolverDef* solver);

/// "Convolution" for V1LayerParameter::CONVOLUTION; "" for NONE.
std::string v2_type_name(caffe::V1LayerParameter::LayerType type);

/// "Convolution" for "conv"; "" for an unknown word.
std::string v2_type_name(const std::string& v0_type);

}  // namespace robusta
