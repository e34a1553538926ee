/// Which stage of a pipeline has which layer of a net, as `device: N` says.
///
/// Stage N is the GPU at place N of -gpu, or a rank. A layer without the field is where the blobs that it reads are
/// made; of several such places, on the last. A source, and a Split, is where the first of its readers is. A layer may
/// read what its own stage and earlier ones make, and nothing of later ones: so all that is sent forward goes to later
/// stages, and gradients come back the same ways.
#pragma once

#include <vector>

#include "schema/source.h"

namespace robusta {

/// Whether any layer of the net says where it is to be.
bool names_devices(const caffe::NetParameter& net);
/// How many stages ranks make of it: one more than the last device that a layer names.
int stages_named(const caffe::NetParameter& net);

/// What has the stages, for messages.
enum class StagesAre { kGpus, kRanks };

/// The stage of each layer of a net that is filtered and has its splits. Throws Error{kConfig} with file, line and
/// layer for what is no pipeline of so many stages: a device that is not listed, a layer that reads from a later stage,
/// one that works in place on a blob of another, parameters that layers of two stages share.
std::vector<int> place_layers(const NetDef& net, int stages, StagesAre where = StagesAre::kGpus);

/// Throws Error{kConfig} where a stage has no layer of the net.
void require_all_stages(const NetDef& net, const std::vector<int>& placement, int stages,
                        StagesAre where = StagesAre::kGpus);

/// The layers of a test net that use parameters of the train net have to be where these are. Throws Error{kConfig}.
void require_same_places(const NetDef& train, const std::vector<int>& trained, const NetDef& test,
                         const std::vector<int>& tested);

}  // namespace robusta
