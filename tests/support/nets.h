/// Small nets for tests, from text.
#pragma once

#include <string>
#include <vector>

#include "net/net.h"

namespace robusta::test {

/// Parses, filters for the phase of `options` and inserts splits.
NetDef net_def(const std::string& text, caffe::Phase phase = caffe::TRAIN);

/// Fills all Input blobs of a net with numbers in [-1, 1) that depend only on `seed`; blobs called "label" get
/// 0..classes-1.
void fill_inputs(Net& net, uint64_t seed, int classes = 5);

/// One forward and backward pass; the loss, every net output, every parameter and its gradient, one after the other.
std::vector<float> run_once(Net& net);

/// A residual net with everything the planner has to get right: in-place chains, splits, a sum of two branches, a
/// concatenation, dropout, pooling, a side loss.
extern const char* const kBranchyNet;

}  // namespace robusta::test
