// The order of the merged states and of the test nets is Caffe's, which decides which layers a net has.
#include "solver/files/net_defs.h"

#include <optional>
#include <utility>

#include "base/log.h"
#include "base/str.h"
#include "net/graph/missing.h"
#include "robusta/error.h"
#include "schema/filter.h"
#include "schema/read_text.h"
#include "schema/splits.h"

namespace robusta {
namespace {

[[noreturn]] void refuse_nets(const SolverDef& solver, const char* field, const std::string& cause,
                              const std::string& fix) {
  throw Error(ErrorKind::kConfig, cause, fix).at(solver.where(field));
}

/// The net that serves for training, and for testing where no other is given.
struct CommonNet {
  const SolverDef& solver;
  bool given() const { return solver.param.has_net() || solver.param.has_net_param(); }
  NetDef read() const {
    return solver.param.has_net() ? read_whole_net(solver.param.net())
                                  : net_from(solver.param.net_param(), solver.file);
  }
  std::string origin() const { return solver.param.has_net() ? "net file: " + solver.param.net() : "net_param."; }
};

void check_tests(const SolverDef& solver, int named, bool common) {
  const caffe::SolverParameter& p = solver.param;
  if (p.test_iter_size() < named || (!common && p.test_iter_size() != named)) {
    refuse_nets(solver, "test_iter", str(p.test_iter_size(), " test_iter for ", named, " test nets"),
                "give one test_iter, the number of batches of a test, per test net");
  }
  if (p.test_state_size() > 0 && p.test_state_size() != p.test_iter_size()) {
    refuse_nets(solver, "test_state", str(p.test_state_size(), " test_state for ", p.test_iter_size(), " test nets"),
                "give none, or one per test net");
  }
  if (p.test_iter_size() > 0 && p.test_interval() <= 0) {
    refuse_nets(solver, "test_interval", "there are test nets, but test_interval is not set",
                "give the number of iterations between tests, or remove test_iter");
  }
  for (int i = 0; i < p.test_iter_size(); ++i) {
    if (p.test_iter(i) < 0) {
      refuse_nets(solver, "test_iter", str("test_iter is ", p.test_iter(i)), "give the number of batches of a test");
    }
  }
}

NetDef in_phase(const NetDef& net, caffe::Phase phase, int level, const std::vector<std::string>& stages) {
  caffe::NetState state;
  state.set_phase(phase);
  state.set_level(level);
  for (const std::string& stage : stages) state.add_stage(stage);
  caffe::NetState merged = net.param.state();
  merged.MergeFrom(state);
  return net_in_state(net, merged);
}

/// The net of the TEST phase; none where it is not whole, either.
std::optional<NetDef> whole_in_test(const NetDef& net, int level, const std::vector<std::string>& stages) {
  try {
    const QuietLog quiet;  // the layers that stay out are of interest where the net is taken alone
    NetDef tested = in_phase(net, caffe::TEST, level, stages);
    if (tested.param.layer_size() > 0) return tested;
  } catch (const Error&) {}
  return std::nullopt;
}

}  // namespace

NetDef NetSource::definition() const {
  caffe::NetState state;
  state.set_phase(phase);
  // What the solver says of levels and stages is added to the net's own, and wins over it.
  state.MergeFrom(net.param.state());
  state.MergeFrom(extra);
  return net_in_state(net, state);
}

NetSource train_net_of(const SolverDef& solver) {
  const caffe::SolverParameter& p = solver.param;
  const int named = p.has_net() + p.has_net_param() + p.has_train_net() + p.has_train_net_param();
  if (named == 0) {
    refuse_nets(solver, "net", "the solver names no net", "set net: \"train_val.prototxt\"");
  }
  if (named > 1) {
    refuse_nets(solver, "net", str("the solver names ", named, " train nets"),
                "keep one of net, net_param, train_net, train_net_param");
  }
  const CommonNet common{solver};
  NetSource source{{}, caffe::TRAIN, p.train_state(), ""};
  if (p.has_train_net()) {
    source.net = read_whole_net(p.train_net());
    source.origin = "train_net file: " + p.train_net();
  } else if (p.has_train_net_param()) {
    source.net = net_from(p.train_net_param(), solver.file);
    source.origin = "train_net_param.";
  } else {
    source.net = common.read();
    source.origin = common.origin();
  }
  return source;
}

std::vector<NetSource> test_nets_of(const SolverDef& solver) {
  const caffe::SolverParameter& p = solver.param;
  const CommonNet common{solver};
  check_tests(solver, p.test_net_param_size() + p.test_net_size(), common.given());
  std::vector<NetSource> sources;
  for (const caffe::NetParameter& net : p.test_net_param()) {
    sources.push_back({net_from(net, solver.file), caffe::TEST, {}, "test_net_param."});
  }
  for (const std::string& file : p.test_net()) {
    sources.push_back({read_whole_net(file), caffe::TEST, {}, "test_net file: " + file});
  }
  while (static_cast<int>(sources.size()) < p.test_iter_size()) {
    sources.push_back({common.read(), caffe::TEST, {}, common.origin()});
  }
  for (int i = 0; i < p.test_state_size(); ++i) sources[static_cast<size_t>(i)].extra = p.test_state(i);
  return sources;
}

NetDef net_in_state(const std::string& path, caffe::Phase phase, int level, const std::vector<std::string>& stages) {
  return in_phase(read_whole_net(path), phase, level, stages);
}

NetInPhase net_in_its_phase(const std::string& path, int level, const std::vector<std::string>& stages) {
  const NetDef net = read_whole_net(path);
  std::optional<NetDef> tested;
  try {
    NetDef trained = in_phase(net, caffe::TRAIN, level, stages);
    if (trained.param.layer_size() == 0) tested = whole_in_test(net, level, stages);
    if (!tested) return {std::move(trained), caffe::TRAIN};
    LOG_INFO << "The net is taken in the TEST phase: it has no layers in the TRAIN phase";
  } catch (const Error& of_training) {
    tested = whole_in_test(net, level, stages);
    if (!tested) throw;
    LOG_INFO << "The net is taken in the TEST phase, for in the TRAIN phase this holds: " << of_training.what();
  }
  return {std::move(*tested), caffe::TEST};
}

}  // namespace robusta
