// AdaGrad: Duchi, Hazan, Singer, JMLR 2011. The history is the sum of the squared gradients.
#include <cmath>

#include "solver/rules/fused.h"

namespace robusta {
namespace {

template <typename T>
struct AdaGradElement {
  static constexpr int kHistories = 1;
  AdaGradElement(const UpdateTask& task, double delta)
      : rate(static_cast<T>(task.rate)), delta(static_cast<T>(delta)) {}
  void operator()(T& w, T g, T& h) const {
    h += g * g;
    w -= rate * g / (std::sqrt(h) + delta);
  }
  T rate, delta;
};

class AdaGrad : public UpdateRule {
 public:
  explicit AdaGrad(double delta) : delta_(delta) {}
  int histories() const override { return 1; }
  bool history_moves_without_rate() const override { return true; }
  void apply(const UpdateTask& task) const override { run_fused<AdaGradElement>(task, delta_); }

 private:
  double delta_;
};

}  // namespace

std::unique_ptr<UpdateRule> make_adagrad(const SolverDef& solver) {
  require_no_momentum(solver);
  return std::make_unique<AdaGrad>(solver.param.delta());
}

}  // namespace robusta
