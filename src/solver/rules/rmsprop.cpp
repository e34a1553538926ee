// RMSProp: Tieleman and Hinton, lecture 6.5, 2012. The history is the running mean of the squared gradients.
#include <cmath>

#include "base/str.h"
#include "robusta/error.h"
#include "solver/rules/fused.h"

namespace robusta {
namespace {

template <typename T>
struct RmsPropElement {
  static constexpr int kHistories = 1;
  RmsPropElement(const UpdateTask& task, double keep, double delta)
      : rate(static_cast<T>(task.rate)), keep(static_cast<T>(keep)), delta(static_cast<T>(delta)) {}
  void operator()(T& w, T g, T& h) const {
    h = keep * h + (1 - keep) * g * g;
    w -= rate * g / (std::sqrt(h) + delta);
  }
  T rate, keep, delta;
};

class RmsProp : public UpdateRule {
 public:
  RmsProp(double keep, double delta) : keep_(keep), delta_(delta) {}
  int histories() const override { return 1; }
  bool history_moves_without_rate() const override { return true; }
  void apply(const UpdateTask& task) const override { run_fused<RmsPropElement>(task, keep_, delta_); }

 private:
  double keep_, delta_;
};

}  // namespace

std::unique_ptr<UpdateRule> make_rmsprop(const SolverDef& solver) {
  require_no_momentum(solver);
  const float keep = solver.param.rms_decay();
  if (!(keep >= 0 && keep < 1)) {
    throw Error(ErrorKind::kConfig, str("rms_decay ", keep, " is not in 0..1"), "give a value below 1, such as 0.99")
        .at(solver.where("rms_decay"));
  }
  return std::make_unique<RmsProp>(keep, solver.param.delta());
}

}  // namespace robusta
