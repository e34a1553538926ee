// As Intel's Caffe runs such a file (include/caffe/training_utils.hpp there), with errors where it looks away.

#include "schema/phases.h"

#include "base/str.h"
#include "robusta/error.h"
#include "schema/field_lines.h"
#include "schema/has_phases.h"
#include "schema/read_text.h"
#include "schema/snapshot_prefix.h"
#include "schema/text_file.h"
#include "schema/upgrade.h"

namespace robusta {
namespace {

using ParseInfoTree = google::protobuf::TextFormat::ParseInfoTree;
using google::protobuf::FieldDescriptor;

constexpr const char* kPairs = "params_pair";

/// A pair as it was parsed.
struct Pair {
  const caffe::SolverBatchSizePair& param;
  const ParseInfoTree* tree;
  const std::string& file;

  std::string where(const char* field) const {
    const FieldDescriptor* descriptor = param.GetDescriptor()->FindFieldByName(field);
    const int line = tree ? tree->GetLocation(descriptor, -1).line : -1;
    return line < 0 ? file : str(file, ':', line + 1);
  }
  SolverDef solver() const {
    SolverDef def;
    def.param = param.solver_params();
    def.file = file;
    const FieldDescriptor* field = param.GetDescriptor()->FindFieldByName("solver_params");
    if (const ParseInfoTree* nested = tree ? tree->GetTreeForNested(field, -1) : nullptr) {
      collect_lines(def.param, *nested, "", &def.lines);
    }
    upgrade_solver(&def);
    return def;
  }
};

bool names_net(const caffe::SolverParameter& p) {
  return p.has_net() || p.has_net_param() || p.has_train_net() || p.has_train_net_param();
}

bool same_net(const caffe::SolverParameter& a, const caffe::SolverParameter& b) {
  return a.net() == b.net() && a.train_net() == b.train_net() &&
         a.net_param().SerializeAsString() == b.net_param().SerializeAsString() &&
         a.train_net_param().SerializeAsString() == b.train_net_param().SerializeAsString();
}

/// Gives a later phase the net of the first one.
void take_net(const caffe::SolverParameter& first, SolverDef& solver) {
  caffe::SolverParameter& p = solver.param;
  if (names_net(p) && !same_net(first, p)) {
    const char* field = p.has_net()         ? "net"
                        : p.has_net_param() ? "net_param"
                        : p.has_train_net() ? "train_net"
                                            : "train_net_param";
    throw Error(ErrorKind::kConfig, "the phases of a file train one net, and this is not that of the first",
                "remove it, or train in two runs: the second one with -weights")
        .at(solver.where(field));
  }
  if (first.has_net()) p.set_net(first.net());
  if (first.has_net_param()) *p.mutable_net_param() = first.net_param();
  if (first.has_train_net()) p.set_train_net(first.train_net());
  if (first.has_train_net_param()) *p.mutable_train_net_param() = first.train_net_param();
}

/// The phase of `pair`, which follows those of `before`.
SolverPhase phase_of(const Pair& pair, const std::vector<SolverPhase>& before) {
  if (before.empty() && !pair.param.has_solver_params()) {
    throw Error(ErrorKind::kConfig, "the first params_pair has no solver_params", "add solver_params { net: ... }")
        .at(pair.where("batch_size"));
  }
  SolverPhase phase = before.empty() ? SolverPhase{} : before.back();
  if (pair.param.has_solver_params()) phase.solver = pair.solver();
  if (pair.param.has_batch_size()) {
    phase.batch = pair.param.batch_size();
    phase.batch_where = pair.where("batch_size");
    if (phase.batch == 0) throw Error(ErrorKind::kConfig, "batch_size is 0", "give 1 or more").at(phase.batch_where);
  }
  if (!before.empty()) take_net(before.front().solver.param, phase.solver);
  return phase;
}

}  // namespace

std::vector<SolverPhase> read_phases(const std::string& path) { return parse_phases(load_text(path), path); }

std::vector<SolverPhase> parse_phases(const std::string& text, const std::string& name) {
  if (!has_phases(text)) return {{parse_solver(text, name), 0, ""}};
  caffe::MultiPhaseSolverParameter param;
  ParseInfoTree tree;
  parse_text(text, name, &param, &tree);
  const FieldDescriptor* pairs = param.GetDescriptor()->FindFieldByName(kPairs);
  std::vector<SolverPhase> phases;
  for (int i = 0; i < param.params_pair_size(); ++i) {
    phases.push_back(phase_of({param.params_pair(i), tree.GetTreeForNested(pairs, i), name}, phases));
  }
  if (phases.empty()) {
    throw Error(ErrorKind::kConfig, "there is no phase in it", "add params_pair { solver_params { net: ... } }")
        .at(name);
  }
  const std::string prefix = complete_prefix(phases[0].solver.param.snapshot_prefix(), name);
  for (size_t i = 0; i < phases.size(); ++i) {
    phases[i].solver.param.set_snapshot_prefix(str(prefix, "_phase_", i));
  }
  return phases;
}

void set_batch(const SolverPhase& phase, NetDef& net) {
  if (phase.batch == 0) return;
  for (caffe::LayerParameter& layer : *net.param.mutable_layer()) {
    if (layer.type() != "Data") continue;
    layer.mutable_data_param()->set_batch_size(static_cast<uint32_t>(phase.batch));
    return;
  }
  throw Error(ErrorKind::kConfig, str("batch_size is for the first Data layer, and ", net.file, " has none"),
              "remove it, and set the batch in the net")
      .at(phase.batch_where);
}

}  // namespace robusta
