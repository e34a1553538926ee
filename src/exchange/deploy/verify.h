/// Two nets on the same random input: whether what was written computes what was read.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "exchange/deploy/heads.h"

namespace robusta::deploy {

/// Numbers by the names of blobs.
using BlobValues = std::map<std::string, std::vector<float>>;

/// Random numbers for the inputs of a net of Input layers: pixels where a transformation stands before the blob, which
/// is not yet applied; elsewhere uniform in [-1, 1), or what its reader takes (indices, logarithms). Names are the
/// net's. Each seed gives other numbers.
BlobValues random_inputs(const DeployNet& net, const std::vector<InputTransform>& transforms, uint64_t seed);

/// (pixel - mean) * scale.
void apply_transforms(const std::vector<InputTransform>& transforms, BlobValues* values);

/// Writes the inputs and runs a pass.
void run_on(Net& net, const BlobValues& inputs);

/// Throws Error{kNumeric} at the first layer whose tops are not finite, where an output of the net is not. `net` is
/// built of the definition, and has run.
void require_finite_outputs(const Net& net, const DeployNet& definition);

/// A blob of the first net and one of the second that have to be equal.
struct ComparedBlobs {
  std::string first, second;
};

struct Agreement {
  double largest = 0;  ///< difference, as a part of the largest number of the first blob
  std::string blob;    ///< where
};

/// Whether one of these blobs, which `net` has computed, has other numbers for these inputs; they are what it leaves.
bool depends_on_inputs(Net& net, const std::vector<ComparedBlobs>& blobs, const BlobValues& inputs);

/// The largest relative difference. Throws Error{kInternal} where sizes differ. REQUIRES: the first net's are finite.
Agreement compare(const Net& first, const Net& second, const std::vector<ComparedBlobs>& blobs);

}  // namespace robusta::deploy
