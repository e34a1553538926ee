// Solvers of the C interface.

#include <memory>

#include "api/c/handles.h"

using robusta::v1::guarded;
using robusta::v1::required;
using robusta::v1::Solver;

namespace {

Solver& solver_of(robusta_solver* handle) { return required(handle, "solver")->solver; }

robusta_solver* handle_of(Solver solver) {
  auto handle = std::make_unique<robusta_solver>(std::move(solver));
  handle->net.net = &handle->solver.net();
  return handle.release();
}

robusta::v1::SolverOptions on_gpu(int gpu) {
  robusta::v1::SolverOptions options;
  options.gpu = gpu;
  return options;
}

}  // namespace

int robusta_solver_from_file(const char* path, int gpu, robusta_solver** solver) {
  return guarded([&] {
    *required(solver, "solver") = nullptr;
    *solver = handle_of(Solver::from_file(required(path, "path"), on_gpu(gpu)));
  });
}

int robusta_solver_from_file_over(const char* path, int gpu, robusta_ranks* ranks, robusta_solver** solver) {
  return guarded([&] {
    *required(solver, "solver") = nullptr;
    auto options = on_gpu(gpu);
    options.communicator = &required(ranks, "ranks")->communicator;
    *solver = handle_of(Solver::from_file(required(path, "path"), options));
  });
}

int robusta_solver_from_text(const char* text, int gpu, robusta_solver** solver) {
  return guarded([&] {
    *required(solver, "solver") = nullptr;
    *solver = handle_of(Solver::from_text(required(text, "text"), on_gpu(gpu)));
  });
}

void robusta_solver_free(robusta_solver* solver) { delete solver; }

int robusta_solver_solve(robusta_solver* solver) {
  return guarded([&] { solver_of(solver).solve(); });
}
int robusta_solver_step(robusta_solver* solver, int iterations) {
  return guarded([&] { solver_of(solver).step(iterations); });
}
int robusta_solver_snapshot(robusta_solver* solver) {
  return guarded([&] { solver_of(solver).snapshot(); });
}
int robusta_solver_restore(robusta_solver* solver, const char* state) {
  return guarded([&] { solver_of(solver).restore(required(state, "state")); });
}
int robusta_solver_iteration(robusta_solver* solver) { return solver ? solver->solver.iteration() : -1; }
robusta_net* robusta_solver_net(robusta_solver* solver) { return solver ? &solver->net : nullptr; }

void robusta_solver_on_iteration(robusta_solver* solver, robusta_iteration_function function, void* context) {
  guarded([&] {
    if (!function) return solver_of(solver).on_iteration({});
    solver_of(solver).on_iteration(
        [=](const robusta::v1::IterationReport& now) { function(now.iteration, now.loss, now.rate, context); });
  });
}

void robusta_solver_request_stop(robusta_solver* solver) {
  if (solver) solver->solver.request_stop();
}
