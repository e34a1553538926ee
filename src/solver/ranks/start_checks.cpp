// Ranks that were started with different programs or files would train, and train something else than was asked for:
// each part is compared by its hash, the most general first, so that the error names the part to mend.
#include "solver/ranks/start_checks.h"

#include <algorithm>

#include "base/hash.h"
#include "base/str.h"
#include "base/version.h"
#include "robusta/error.h"
#include "schema/print.h"
#include "solver/files/net_defs.h"
#include "solver/ranks/agreement.h"

namespace robusta {
namespace {

constexpr const char* kSameFiles = "let all hosts read the same files: a shared folder, or equal copies";

void check_same_version(Ranks& ranks) {
  require_equal(ranks, "the version of the program", hash_bytes(kVersion),
                "start the same build of caffe on all hosts (mpirun -x PATH -x LD_LIBRARY_PATH)");
}

uint64_t hash_of_nets(const SolverDef& def) {
  std::string text = text_form(train_net_of(def).net.param);
  for (const NetSource& test : test_nets_of(def)) text += text_form(test.net.param);
  return hash_bytes(text);
}

}  // namespace

void check_same_program(Ranks& ranks, const SolverDef& def) {
  if (ranks.alone()) return;
  check_same_version(ranks);
  require_equal(ranks, "the solver " + def.file, hash_bytes(text_form(def.param)), kSameFiles);
  uint64_t nets = 0;
  ranks.together([&] { nets = hash_of_nets(def); });
  require_equal(ranks, "the net that " + def.file + " trains or tests", nets, kSameFiles);
}

void check_same_net(Ranks& ranks, const std::string& file, const NetDef& net) {
  if (ranks.alone()) return;
  check_same_version(ranks);
  require_equal(ranks, "the net " + file, hash_bytes(text_form(net.param)), kSameFiles);
}

void check_same_flags(Ranks& ranks, const std::vector<std::pair<std::string, std::string>>& flags) {
  if (ranks.alone()) return;
  std::string all;
  for (const auto& [name, value] : flags) all += name + '=' + value + '\n';
  if (ranks.agree(hash_bytes(all))) return;
  for (const auto& [name, value] : flags) {
    require_equal(ranks, "the option " + name, hash_bytes(value), "give all ranks the same options");
  }
}

void check_same_data(Ranks& ranks, const Net& net) {
  if (ranks.alone()) return;
  for (const Node& node : net.graph().nodes) {
    if (!node.source) continue;
    require_equal(ranks, "the data of layer \"" + node.layer->name() + "\" (number of records and first keys)",
                  node.source->fingerprint(),
                  "give all hosts the same data set, or one per rank with %# in its source");
  }
}

}  // namespace robusta
