// AdaDelta: Zeiler, arXiv 1212.5701. Histories: running means of the squared gradients and of the squared steps. The
// learning rate multiplies the paper's step; 1 is the paper's rule.
#include <cmath>

#include "solver/rules/fused.h"

namespace robusta {
namespace {

template <typename T>
struct AdaDeltaElement {
  static constexpr int kHistories = 2;
  AdaDeltaElement(const UpdateTask& task, double delta)
      : rate(static_cast<T>(task.rate)), keep(static_cast<T>(task.momentum)), delta(static_cast<T>(delta)) {}
  void operator()(T& w, T g, T& squares, T& steps) const {
    squares = keep * squares + (1 - keep) * g * g;
    const T step = g * std::sqrt((steps + delta) / (squares + delta));
    steps = keep * steps + (1 - keep) * step * step;
    w -= rate * step;
  }
  T rate, keep, delta;
};

class AdaDelta : public UpdateRule {
 public:
  explicit AdaDelta(double delta) : delta_(delta) {}
  int histories() const override { return 2; }
  bool history_moves_without_rate() const override { return true; }
  void apply(const UpdateTask& task) const override { run_fused<AdaDeltaElement>(task, delta_); }

 private:
  double delta_;
};

}  // namespace

std::unique_ptr<UpdateRule> make_adadelta(const SolverDef& solver) {
  return std::make_unique<AdaDelta>(solver.param.delta());
}

}  // namespace robusta
