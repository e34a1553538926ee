#include "robusta/error.h"
#include "schema/upgrade.h"

namespace robusta {
namespace {

const char* type_name(caffe::SolverParameter::SolverType type) {
  switch (type) {
    case caffe::SolverParameter::SGD: return "SGD";
    case caffe::SolverParameter::NESTEROV: return "Nesterov";
    case caffe::SolverParameter::ADAGRAD: return "AdaGrad";
    case caffe::SolverParameter::RMSPROP: return "RMSProp";
    case caffe::SolverParameter::ADADELTA: return "AdaDelta";
    case caffe::SolverParameter::ADAM: return "Adam";
    case caffe::SolverParameter::SAG: return "SAG";
  }
  return "SGD";
}

}  // namespace

bool upgrade_solver(SolverDef* solver) {
  caffe::SolverParameter& param = solver->param;
  if (!param.has_solver_type()) return false;
  if (param.has_type())
    throw Error(ErrorKind::kConfig, "both type and solver_type are given", "keep type")
        .at(solver->where("solver_type"));
  param.set_type(type_name(param.solver_type()));
  param.clear_solver_type();
  if (const auto line = solver->lines.find("solver_type"); line != solver->lines.end())
    solver->lines.insert_or_assign("type", line->second);
  return true;
}

}  // namespace robusta
