// Stochastic gradient descent with momentum. The velocity holds the rate: a change of rate does not rescale it.
#include "solver/rules/fused.h"

namespace robusta {
namespace {

template <typename T>
struct SgdElement {
  static constexpr int kHistories = 1;
  explicit SgdElement(const UpdateTask& task)
      : momentum(static_cast<T>(task.momentum)), rate(static_cast<T>(task.rate)) {}
  void operator()(T& w, T g, T& h) const {
    h = momentum * h + rate * g;
    w -= h;
  }
  T momentum, rate;
};

class Sgd : public UpdateRule {
 public:
  int histories() const override { return 1; }
  bool history_moves_without_rate() const override { return false; }
  void apply(const UpdateTask& task) const override { run_fused<SgdElement>(task); }
};

}  // namespace

std::unique_ptr<UpdateRule> make_sgd(const SolverDef&) { return std::make_unique<Sgd>(); }

}  // namespace robusta
