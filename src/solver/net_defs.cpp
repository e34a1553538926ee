#include "solver/net_defs.h"

#include "base/str.h"
#include "robusta/error.h"
#include "schema/filter.h"
#include "schema/read_text.h"
#include "schema/splits.h"

namespace robusta {
namespace {

[[noreturn]] void refuse(const SolverDef& solver, const char* field, const std::string& cause, const std::string& fix) {
  throw Error(ErrorKind::kConfig, cause, fix).at(solver.where(field));
}

NetDef in_state(const NetDef& net, caffe::Phase phase, const caffe::NetState* extra) {
  caffe::NetState state;
  state.set_phase(phase);
  state.MergeFrom(net.param.state());
  if (extra) state.MergeFrom(*extra);
  return insert_splits(filter_net(net, state));
}

/// The net that serves for training, and for testing where no other is given.
struct CommonNet {
  const SolverDef& solver;
  bool given() const { return solver.param.has_net() || solver.param.has_net_param(); }
  NetDef read() const {
    return solver.param.has_net() ? read_net(solver.param.net()) : net_from(solver.param.net_param(), solver.file);
  }
  std::string origin() const { return solver.param.has_net() ? "net file: " + solver.param.net() : "net_param."; }
};

const caffe::NetState* test_state(const SolverDef& solver, int index) {
  return solver.param.test_state_size() > 0 ? &solver.param.test_state(index) : nullptr;
}

void check_tests(const SolverDef& solver, int named, bool common) {
  const caffe::SolverParameter& p = solver.param;
  if (p.test_iter_size() < named || (!common && p.test_iter_size() != named)) {
    refuse(solver, "test_iter", str(p.test_iter_size(), " test_iter for ", named, " test nets"),
           "give one test_iter, the number of batches of a test, per test net");
  }
  if (p.test_state_size() > 0 && p.test_state_size() != p.test_iter_size()) {
    refuse(solver, "test_state", str(p.test_state_size(), " test_state for ", p.test_iter_size(), " test nets"),
           "give none, or one per test net");
  }
  if (p.test_iter_size() > 0 && p.test_interval() <= 0) {
    refuse(solver, "test_interval", "there are test nets, but test_interval is not set",
           "give the number of iterations between tests, or remove test_iter");
  }
  for (int i = 0; i < p.test_iter_size(); ++i) {
    if (p.test_iter(i) <= 0) {
      refuse(solver, "test_iter", str("test_iter is ", p.test_iter(i)), "give the number of batches of a test");
    }
  }
}

}  // namespace

PlannedNet train_net_of(const SolverDef& solver) {
  const caffe::SolverParameter& p = solver.param;
  const int named = p.has_net() + p.has_net_param() + p.has_train_net() + p.has_train_net_param();
  if (named == 0) {
    refuse(solver, "net", "the solver names no net", "set net: \"train_val.prototxt\"");
  }
  if (named > 1) {
    refuse(solver, "net", str("the solver names ", named, " train nets"),
           "keep one of net, net_param, train_net, train_net_param");
  }
  PlannedNet planned;
  const CommonNet common{solver};
  if (p.has_train_net()) {
    planned = {read_net(p.train_net()), "train_net file: " + p.train_net()};
  } else if (p.has_train_net_param()) {
    planned = {net_from(p.train_net_param(), solver.file), "train_net_param."};
  } else {
    planned = {common.read(), common.origin()};
  }
  planned.def = in_state(planned.def, caffe::TRAIN, &p.train_state());
  return planned;
}

std::vector<PlannedNet> test_nets_of(const SolverDef& solver) {
  const caffe::SolverParameter& p = solver.param;
  const CommonNet common{solver};
  check_tests(solver, p.test_net_param_size() + p.test_net_size(), common.given());
  std::vector<PlannedNet> nets;
  for (const caffe::NetParameter& net : p.test_net_param()) {
    nets.push_back({net_from(net, solver.file), "test_net_param."});
  }
  for (const std::string& file : p.test_net()) nets.push_back({read_net(file), "test_net file: " + file});
  for (int i = static_cast<int>(nets.size()); i < p.test_iter_size(); ++i) {
    nets.push_back({common.read(), common.origin()});
  }
  for (size_t i = 0; i < nets.size(); ++i) {
    nets[i].def = in_state(nets[i].def, caffe::TEST, test_state(solver, static_cast<int>(i)));
  }
  return nets;
}

NetDef net_in_state(const std::string& path, caffe::Phase phase, int level, const std::vector<std::string>& stages) {
  NetDef net = read_net(path);
  caffe::NetState state;
  state.set_phase(phase);
  state.set_level(level);
  for (const std::string& stage : stages) state.add_stage(stage);
  caffe::NetState merged = net.param.state();
  merged.MergeFrom(state);
  return insert_splits(filter_net(net, merged));
}

}  // namespace robusta
