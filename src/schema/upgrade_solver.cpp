// Solvers were named by an enumeration before they were named by strings; both at once contradict each other.

#include <iterator>

#include "robusta/error.h"
#include "schema/upgrade.h"

namespace robusta {
namespace {

/// By the number of SolverParameter::SolverType.
constexpr const char* kSolverTypes[] = {"SGD", "Nesterov", "AdaGrad", "RMSProp", "AdaDelta", "Adam", "SAG"};
static_assert(std::size(kSolverTypes) == caffe::SolverParameter::SolverType_ARRAYSIZE);

}  // namespace

bool upgrade_solver(SolverDef* solver) {
  caffe::SolverParameter& param = solver->param;
  if (!param.has_solver_type()) return false;
  if (param.has_type())
    throw Error(ErrorKind::kConfig, "both type and solver_type are given", "keep type")
        .at(solver->where("solver_type"));
  param.set_type(kSolverTypes[param.solver_type()]);
  param.clear_solver_type();
  if (const auto line = solver->lines.find("solver_type"); line != solver->lines.end())
    solver->lines.insert_or_assign("type", line->second);
  return true;
}

}  // namespace robusta
