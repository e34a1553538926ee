// Solver states of Caffe's binary form: read with what they say of the training, and restored.

#include "fuzz.h"
#include "solver/files/model_format.h"
#include "solver/files/snapshot.h"
#include "solver/files/weights.h"
#include "toy_net.h"

namespace robusta::fuzz {
namespace {

void read_solver_state(std::string_view input) {
  const std::string path = file_of(input);
  const caffe::SolverState state = default_format().read_state(path);
  reads([&] { state_from_proto(state, 3); });
  Solver& solver = toy_solver();
  const Snapshot snapshot{.path = path,
                          .state = state,
                          .model_path = "toy.caffemodel",
                          .weights = weights_of(solver.train_net()),
                          .averaged = {}};
  reads([&] {
    restore_weights(snapshot, solver.train_net());
    check_histories(snapshot, solver.updater());
    for (const HistoryId id : solver.updater().history_ids()) {
      solver.updater().set_history(id, saved_history(snapshot, id));
    }
  });
  read_snapshot(path);
}

[[maybe_unused]] const bool registered_state = register_target("state", read_solver_state);

}  // namespace
}  // namespace robusta::fuzz
