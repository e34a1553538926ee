// Of each data set the first and the last batch are read, because what is cut off is cut off at its end.

#include "app/checks/input_checks.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "app/checks/check_report.h"
#include "base/str.h"
#include "solver/files/prefix_lock.h"
#include "solver/files/weights.h"
#include "solver/loop/last_epochs.h"

namespace robusta {
namespace {

/// `batches`: of all ranks, in one epoch or test.
void read_ends(Ranks& ranks, const Net& net, uint64_t seed, int64_t batches) {
  const auto batch = static_cast<uint64_t>(net.batch()), count = static_cast<uint64_t>(ranks.count());
  const uint64_t rounds = std::max<uint64_t>(1, (static_cast<uint64_t>(batches) + count - 1) / count);
  const uint64_t first = static_cast<uint64_t>(ranks.rank()) * batch, last = first + (rounds - 1) * count * batch;
  for (const uint64_t position : {first, last}) {
    const Pass pass{.seed = seed, .first_sample = position, .next_sample = last, .batch = net.batch()};
    for (const Node& node : net.graph().nodes) {
      if (!node.source) continue;
      try {
        node.source->prepare(pass);
      } catch (Error& error) {
        rethrow_at(std::move(error), node.layer->name(), node.where);
      }
    }
  }
}

std::string size_text(double bytes) { return str(static_cast<int64_t>(bytes / (1 << 20)), " MiB"); }

}  // namespace

std::string check_data(Ranks& ranks, Solver& solver) {
  const int64_t records = records_of(solver.whole_net());
  ranks.together([&] {
    const Net& train = solver.whole_net();
    read_ends(ranks, train, solver.state().seed, (records + train.batch() - 1) / train.batch());
    for (size_t i = 0; i < solver.test_nets().size(); ++i) {
      read_ends(ranks, *solver.test_nets()[i], solver.state().seed, solver.def().param.test_iter(static_cast<int>(i)));
    }
  });
  const std::string size = records > 0 ? str(records, " records") : "no end of records";
  return str(size, "; the first and the last batch of each rank can be read, for training and ",
             counted(static_cast<int64_t>(solver.test_nets().size()), "test net"));
}

std::string check_disk(Ranks& ranks, Solver& solver) {
  std::string text;
  ranks.root_only([&] {
    const SolverDef& def = solver.def();
    check_snapshots_possible(def, solver.whole_net(), solver.updater());
    const std::string& prefix = def.param.snapshot_prefix();
    if (plans_snapshots(def.param)) PrefixLock::refuse_if_held(prefix);
    const std::filesystem::path parent = std::filesystem::path(prefix).parent_path();
    const std::string folder = parent.empty() ? "." : parent.string();
    struct statvfs disk = {};
    if (statvfs(folder.c_str(), &disk) != 0) {
      throw Error(ErrorKind::kOutput, str("cannot look at the disk of ", folder, ": ", std::strerror(errno)));
    }
    const double free = static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize);
    const auto needed = static_cast<double>(snapshot_bytes(def, solver.whole_net(), solver.updater()));
    if (free < needed) {
      throw Error(ErrorKind::kOutput,
                  str("a snapshot takes ", size_text(needed), ", the disk of ", folder, " has ", size_text(free)),
                  "make room, or set snapshot_prefix to another disk")
          .at(def.where("snapshot_prefix"));
    }
    text = str("a snapshot takes ", size_text(needed), "; there is room for ",
               static_cast<int64_t>(std::min(free / std::max(needed, 1.0), 1e6)), " at ", prefix);
  });
  return text;
}

}  // namespace robusta
