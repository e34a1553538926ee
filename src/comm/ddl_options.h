/// The options of -ddl and of DDL_OPTIONS: IBM's grammar and our own beside it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "comm/elastic/bounds.h"

namespace robusta {

/// What gradients are made of on their way between hosts.
enum class Compression { kNone, kFp16, kBf16, kInt8, kTopK };

struct WireFormat {
  Compression compress = Compression::kNone;
  double share = 0;  ///< of kTopK: of the elements that travel

  /// What the format leaves out of elements is added to the next ones.
  bool keeps_left() const { return compress == Compression::kInt8 || compress == Compression::kTopK; }
};

/// What the ranks share out among them, so that each has a part of it alone (-shard).
enum class Shard { kNone, kStates, kGradients };

/// What becomes of the gradients of all ranks (-op): their mean, or what they agree on (solver/ranks/sums/adasum.h).
enum class GradientOp { kSum, kAdasum };

/// What a gradient that comes late is made of, where parameter servers take it later than others (-compensate):
/// itself; a smaller step, by its staleness; or what it would be at the weights of now.
enum class Compensation { kNone, kRate, kDelay };

/// Parameter servers (solver/ranks/sums/servers/): the last ranks hold the parameters, and groups of the others train.
struct ServerOptions {
  int groups = 1;         ///< that gradients are summed within
  int servers = 0;        ///< 0: all ranks train, and sum their gradients
  int max_staleness = 0;  ///< rounds of all groups by which gradients may come late; 0: all go in step
  Compensation compensation = Compensation::kNone;
  double delay_weight = 0;  ///< of kDelay: lambda

  bool asked() const { return groups > 1 || servers > 0; }
  bool in_step() const { return max_staleness == 0; }
};

/// Whether layers are cut among the ranks as it is fastest (-fit; solver/ranks/model/fit/).
struct FitOptions {
  bool asked = false;
  double gb_per_second = 0, microseconds = 0;  ///< of every link; 0: measured

  bool measures() const { return gb_per_second == 0; }
};

/// How gradients are summed. The values are the letters of IBM's -mode (docs/multinode.md); comm/all_reduce.cpp and,
/// for GPUs, solver/ranks/sums/choose_sum.cpp turn them into reductions, and nothing else looks at them.
enum class ReduceMode : char {
  kByHosts = 0,      ///< no mode was given: by dimension, as the hosts suggest
  kAutomatic = 'a',  ///< `auto`: measure, then choose dims and mode
  kLayered = 'b',    ///< by dimension
  kCustom = 'c',     ///< the same here
  kLibrary = 'm',    ///< MPI's own
  kNccl = 'n',
  kExplored = 'p',  ///< by dimension, with the algorithm that was fastest in each
  kRing = 'r',      ///< one ring over all ranks
};

/// Whether the mode sums dimension by dimension, as -compress int8 and topk and -sync_every need it.
bool sums_by_dimension(ReduceMode mode);

/// Ranks of a launch that train something of their own.
struct ProcessSet {
  int first = 0, last = 0;
};

struct DdlOptions {
  ReduceMode mode = ReduceMode::kByHosts;
  std::vector<int>
      dims;  ///< outermost last, as IBM writes them: ranks per host, hosts per rack, racks; empty: not given
  std::vector<ProcessSet> sets;  ///< independent trainings of one launch, each with these options; empty: one of all
  int own_set = 0;               ///< that this rank is in, once it is known
  int place_on_host = 0;         ///< of this rank among those of all sets, then
  int dump_iter = 0;             ///< > 0: report times and bandwidth per dimension every so many iterations
  int dev_sync = 0;              ///< 0, 1 or 2; means something on GPUs alone
  int rebind_iter = 0;           ///< > 0: look for slow ranks every so many iterations
  int dbg_level = 0;             ///< 0, 1 or 2
  double bucket_mb = 0;          ///< size of a bucket; 0: chosen
  WireFormat wire;               ///< of what travels between hosts
  Shard shard = Shard::kNone;
  GradientOp op = GradientOp::kSum;
  int sync_every = 1;        ///< > 1: local SGD: weights are averaged so often, and gradients stay within X
  double slow_momentum = 0;  ///< of what these averages move the weights by
  double timeout_s = 60;     ///< after which a silent rank ends the job; 0: nobody watches
  ElasticBounds elastic;     ///< ranks may come and go
  ServerOptions served;
  FitOptions fit;
  int check_iter = 0;  ///< > 0: compare weights over ranks every so many iterations
};

inline bool has_local_steps(const DdlOptions& options) { return options.sync_every > 1; }

/// How many ranks share out the states of the update: all of them, or each has its own.
inline int sharers_of_states(const DdlOptions& options, int ranks) {
  if (options.served.servers > 0) return options.served.servers;
  return options.shard == Shard::kNone ? 1 : ranks;
}

/// As large as the parameters, in the memory of the host: what the ranks began with since the last average, and its
/// momentum.
inline int arrays_of_slow_momentum(const DdlOptions& options) { return options.slow_momentum > 0 ? 2 : 0; }

/// Throws Error{kUsage} naming the word at fault, with the nearest known one.
DdlOptions parse_ddl_options(const std::string& text);

/// Which set the rank is in; 0 where all are one. Throws Error{kUsage} unless each rank is in one set.
int set_of_rank(const DdlOptions& options, int rank, int ranks);

/// How many ranks are in each group. Throws Error{kUsage} unless servers and equal groups make up all ranks.
/// REQUIRES: servers.
int ranks_per_group(const ServerOptions& options, int ranks);

/// Throws Error{kUsage} when the product of the dims is not the number of ranks, in IBM's words and with the two
/// nearest fixes. REQUIRES: dims are given.
void check_dims(const DdlOptions& options, int ranks);

}  // namespace robusta
