// Training, and what happens between its passes under the interpreter's lock.

#include "solver_core.h"

#include "layer.h"
#include "robusta/error.h"

namespace py = pybind11;

namespace robusta::python {
namespace {

constexpr auto kSignalsEvery = std::chrono::milliseconds(50);  // short for people, rare beside an iteration

}  // namespace

SolverCore::SolverCore(const std::string& path, SolverOptions options, std::shared_ptr<Ranks> ranks)
    : ranks_(std::move(ranks)), guard_(std::make_shared<Guard>()) {
  if (ranks_) options.communicator = &ranks_->communicator;
  const auto of_ranks = use_of_ranks();
  {
    const Guard::Unlocked unlocked;
    // Whoever keeps the solver, or one of its nets, keeps its ranks.
    solver_ = std::shared_ptr<Solver>(new Solver(Solver::from_file(path, options)),
                                      [ranks = ranks_](Solver* made) { delete made; });
  }
  nets_.push_back(std::make_shared<NetCore>(std::shared_ptr<Net>(solver_, &solver_->net()), guard_));
  for (int index = 0; index < solver_->test_nets(); ++index) {
    nets_.push_back(std::make_shared<NetCore>(std::shared_ptr<Net>(solver_, &solver_->test_net(index)), guard_));
  }
  solver_->before_iteration([this] { before_iteration(); });
  note_progress();
}

SolverCore::~SolverCore() {
  if (!guard_->here()) {  // its threads are not those of this process
    new std::shared_ptr<Solver>(std::move(solver_));
    return;
  }
  // Nets that scripts keep keep the solver, too.
  solver_->before_iteration({});
  solver_->before_update({});
}

/// What trains calls the ranks: no other thread does meanwhile.
std::unique_ptr<Guard::Use> SolverCore::use_of_ranks() const {
  return ranks_ ? std::make_unique<Guard::Use>(ranks_->guard) : nullptr;
}

void SolverCore::run(const std::function<void()>& work) {
  const Guard::Use use(guard_);
  guard_->require_no_pass();
  const auto of_ranks = use_of_ranks();
  for (const auto& net : nets_) net->send();
  try {
    const Guard::Pass pass(guard_);
    work();
  } catch (...) {
    note_progress();
    for (const auto& net : nets_) net->receive();
    throw;
  }
  note_progress();
  for (const auto& net : nets_) net->receive();
}

void SolverCore::note_progress() {
  iteration_ = solver_->iteration();
  rate_ = solver_->rate();
}

/// On the thread that trains, without the interpreter's lock.
void SolverCore::before_iteration() {
  note_progress();
  const auto now = std::chrono::steady_clock::now();
  const bool check = now - checked_ >= kSignalsEvery;
  if (!check && on_start_.empty()) return;
  const py::gil_scoped_acquire acquired;
  if (check) {
    checked_ = now;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (passes_end()) throw Error(ErrorKind::kUsage, "the interpreter ends while the solver trains");
  }
  call(on_start_);
}

void SolverCore::call(const std::vector<py::object>& callbacks) {
  if (callbacks.empty()) return;
  for (const auto& net : nets_) net->receive();
  // A callback may add others.
  const std::vector<py::object> now = callbacks;
  for (const py::object& callback : now) callback();
  for (const auto& net : nets_) net->send();
}

void SolverCore::add_callbacks(py::object on_start, py::object on_gradients) {
  const Guard::Use use(guard_);
  if (!on_start.is_none()) on_start_.push_back(std::move(on_start));
  if (on_gradients.is_none()) return;
  on_gradients_.push_back(std::move(on_gradients));
  if (on_gradients_.size() > 1) return;
  // Not before: a solver that is not asked hides updates behind other work.
  solver_->before_update([this] {
    const py::gil_scoped_acquire acquired;
    call(on_gradients_);
  });
}

void SolverCore::step(int iterations) {
  run([&] { solver_->step(iterations); });
}

void SolverCore::solve() {
  try {
    run([&] { solver_->solve(); });
  } catch (const py::error_already_set& error) {
    if (error.matches(PyExc_KeyboardInterrupt)) snapshot();
    throw;
  } catch (const Error& error) {  // of a layer's code, which may be where Ctrl-C met it
    if (is_interrupt(error)) snapshot();
    throw;
  }
}

void SolverCore::test() {
  run([&] { solver_->test(); });
}

SnapshotFiles SolverCore::snapshot() {
  SnapshotFiles files;
  run([&] { files = solver_->snapshot(); });
  return files;
}

void SolverCore::restore(const std::string& state) {
  const Guard::Use use(guard_);
  guard_->require_no_pass();
  const auto of_ranks = use_of_ranks();
  NetCore::while_sharing(nets_, [&] {
    const Guard::Pass pass(guard_);
    const Guard::Blind blind(guard_.get());
    solver_->restore(state);
  });
  note_progress();
  for (const auto& net : nets_) net->forget_arrays();
}

}  // namespace robusta::python
