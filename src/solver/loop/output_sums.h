/// Sums of what nets show, over batches and over ranks.
#pragma once

#include <vector>

#include "solver/ranks/ranks.h"
#include "solver/reports/training_log.h"

namespace robusta {

/// The shapes of the outputs, with zeros: a rank may have no batch at all.
std::vector<OutputBlob> zeros_like(std::vector<OutputBlob> outputs);
/// REQUIRES: blobs of the same shapes.
void add(std::vector<OutputBlob>& sums, const std::vector<OutputBlob>& outputs);
void divide(std::vector<OutputBlob>& sums, double by);

/// Values and loss become their sums over the ranks. Collective.
void sum_over_ranks(Ranks& ranks, std::vector<OutputBlob>& outputs, double& loss);
/// The values become their means over the ranks, of which so many have one set of them together. Collective.
void average_over_ranks(Ranks& ranks, int together, std::vector<OutputBlob>& outputs);

}  // namespace robusta
