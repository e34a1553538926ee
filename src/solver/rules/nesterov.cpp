// Nesterov's accelerated gradient in the form of Sutskever, Martens, Dahl, Hinton, ICML 2013.
#include "solver/rules/fused.h"

namespace robusta {
namespace {

template <typename T>
struct NesterovElement {
  static constexpr int kHistories = 1;
  explicit NesterovElement(const UpdateTask& task)
      : momentum(static_cast<T>(task.momentum)), rate(static_cast<T>(task.rate)) {}
  void operator()(T& w, T g, T& h) const {
    const T before = h;
    h = momentum * h + rate * g;
    w -= (1 + momentum) * h - momentum * before;
  }
  T momentum, rate;
};

class Nesterov : public UpdateRule {
 public:
  int histories() const override { return 1; }
  bool history_moves_without_rate() const override { return false; }
  void apply(const UpdateTask& task) const override { run_fused<NesterovElement>(task); }
};

}  // namespace

std::unique_ptr<UpdateRule> make_nesterov(const SolverDef&) { return std::make_unique<Nesterov>(); }

}  // namespace robusta
