// Adam: Kingma and Ba, ICLR 2015, in the order of the end of its section 2: the correction of the bias is folded into
// the rate, so delta is added to the uncorrected root. Decay is part of the gradient (L2, not decoupled).
#include <cmath>

#include "solver/rules/fused.h"

namespace robusta {
namespace {

template <typename T>
struct AdamElement {
  static constexpr int kHistories = 2;
  AdamElement(const UpdateTask& task, double beta2, double delta)
      : beta1(static_cast<T>(task.momentum)), beta2(static_cast<T>(beta2)), delta(static_cast<T>(delta)) {
    const double t = static_cast<double>(task.iteration + 1);
    const double correction = std::sqrt(1 - std::pow(beta2, t)) / (1 - std::pow(task.momentum, t));
    rate = static_cast<T>(task.rate * correction);
  }
  void operator()(T& w, T g, T& mean, T& squares) const {
    mean = beta1 * mean + (1 - beta1) * g;
    squares = beta2 * squares + (1 - beta2) * g * g;
    w -= rate * mean / (std::sqrt(squares) + delta);
  }
  T beta1, beta2, delta, rate;
};

class Adam : public UpdateRule {
 public:
  Adam(double beta2, double delta) : beta2_(beta2), delta_(delta) {}
  int histories() const override { return 2; }
  bool history_moves_without_rate() const override { return true; }
  void apply(const UpdateTask& task) const override { run_fused<AdamElement>(task, beta2_, delta_); }

 private:
  double beta2_, delta_;
};

}  // namespace

std::unique_ptr<UpdateRule> make_adam(const SolverDef& solver) {
  return std::make_unique<Adam>(solver.param.momentum2(), solver.param.delta());
}

}  // namespace robusta
