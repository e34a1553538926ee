/// Whether the ranks can use NCCL, and their connecting.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "comm/topology.h"
#include "solver/ranks/ranks.h"
#include "solver/ranks/sums/nccl/nccl_sum.h"

namespace robusta {

struct NcclAgreement {
  const NcclApi* api = nullptr;  ///< null: on no rank
  std::string refusal;           ///< then, on rank 0: why; "" where there is no place to look for it
};

/// Collective, with the same answer on all ranks: every rank has a GPU of its own and the same NCCL.
NcclAgreement agree_on_nccl(Ranks& ranks, const Device& device);

/// How long sums may take: twice -timeout, so that the watch, which knows more, is first where there is one.
NcclPatience nccl_patience(Ranks& ranks);

/// "X (4 ranks, within a host)"
std::string title_of(const Dimension& dimension);

/// Connects the GPUs of this rank's group in the dimension, with the groups of the other ranks beside it. Collective;
/// throws on all ranks.
NcclDimension connect_nccl(Ranks& ranks, const NcclApi& api, Device& device, const Dimension& dimension);
/// The same where it may fail: none then, and `why` is what was thrown on this rank, if anything.
std::optional<NcclDimension> try_nccl(Ranks& ranks, const NcclApi& api, Device& device, const Dimension& dimension,
                                      std::string& why);

}  // namespace robusta
