/// The steps of a recurrent layer as its equations have them, stream by stream and unit by unit: the oracle of
/// recurrent_steps.h.
///
///   z_t = W x_t + V s + U (cont_t h_(t-1)) + b, then the cell (cells.h)
#pragma once

#include <algorithm>

#include "layers/kit/finite_numbers.h"
#include "layers/kit/recurrent/cells.h"
#include "layers/kit/recurrent/recurrent_layer.h"
#include "layers/kit/recurrent/reference_products.h"
#include "layers/kit/scratch_plan.h"

namespace robusta::reference {

template <typename T, template <typename> class CellOf>
class ReferenceSteps {
 public:
  using Cell = CellOf<ExactMath<T>>;

  ReferenceSteps(const RecurrentLayer& layer, const KernelRequest& request, ScratchPlan& saved, ScratchPlan& scratch,
                 Booking& booking)
      : layer_(layer), size_(layer.size()) {
    booking.reads_bottoms.assign(request.bottoms.size(), false);
    for (size_t i = 0; i < (layer.has_static() ? 3 : 2); ++i) booking.reads_bottoms[i] = true;
    booking.takes_missing_top_diffs = true;
    const auto bytes = [](int64_t count) { return static_cast<size_t>(count) * sizeof(T); };
    gates_at_ = saved.add(bytes(size_.rows() * size_.gates));
    taken_h_at_ = saved.add(bytes(size_.rows() * size_.hidden));
    taken_c_at_ = saved.add(bytes(size_.rows() * size_.hidden));
    dz_at_ = scratch.add(bytes(size_.gates));
    dh_at_ = scratch.add(bytes(size_.hidden));
    dc_at_ = scratch.add(bytes(size_.hidden));
  }

  /// h [steps, streams, hidden] becomes what the steps put out.
  void forward(const KernelRun& run, T* h) const {
    require_finite_numbers(run.bottoms[1].as<T>(), size_.rows(),
                           [this](int64_t row, double value) { return layer_.bad_cont(row, value); });
    for (int64_t n = 0; n < size_.streams; ++n) {
      T *h_state = state(layer_.last_state(run, 0), n),
        *c_state = cell_state(layer_.last_state(run, Cell::kRemembers), n);
      copy(state(layer_.first_state(run, 0), n), h_state);
      copy(cell_state(layer_.first_state(run, Cell::kRemembers), n), c_state);
      for (int64_t t = 0; t < size_.steps; ++t) {
        const int64_t row = t * size_.streams + n;
        take_over(run, row, h_state, c_state);
        excite(run, row);
        respond(run, row, h_state, c_state);
        std::copy_n(h_state, size_.hidden, h + row * size_.hidden);
      }
    }
  }

  /// All gradients, from that of h; null: zero.
  void backward(const KernelRun& run, const T* dh) const {
    const Gradients to{{run, 0}, {run, 1}, {run, 2}, {run, layer_.hidden_weights()}};
    T *of_h = at(run.scratch, dh_at_), *of_c = at(run.scratch, dc_at_);
    for (int64_t n = 0; n < size_.streams; ++n) {
      begin_gradient(layer_.last_state_gradient(run, 0), n, of_h);
      if (Cell::kRemembers) begin_gradient(layer_.last_state_gradient(run, 1), n, of_c);
      for (int64_t t = size_.steps - 1; t >= 0; --t) {
        const int64_t row = t * size_.streams + n;
        for (int64_t j = 0; dh && j < size_.hidden; ++j) of_h[j] += dh[row * size_.hidden + j];
        step_back(run, row, of_h, of_c);
        contribute(run, to, row, t + 1 == size_.steps);
      }
      copy(of_h, state(layer_.first_state_gradient(run, 0), n));
      if (Cell::kRemembers) copy(of_c, state(layer_.first_state_gradient(run, 1), n));
    }
  }

 private:
  struct Gradients {
    ParamGradient<T> x, bias, fixed, hidden;
  };

  static T* at(void* base, size_t offset) { return static_cast<T*>(at_offset(base, offset)); }
  static const T* param(const KernelRun& run, size_t i) { return run.params[i]->tensor().template as<T>(); }
  T* gates(const KernelRun& run, int64_t row) const { return at(run.saved, gates_at_) + row * size_.gates; }
  T* taken_h(const KernelRun& run, int64_t row) const { return at(run.saved, taken_h_at_) + row * size_.hidden; }
  T* taken_c(const KernelRun& run, int64_t row) const { return at(run.saved, taken_c_at_) + row * size_.hidden; }
  static T cont(const KernelRun& run, int64_t row) { return run.bottoms[1].as<T>()[row]; }

  /// Of stream n; null where the tensor is not there.
  T* state(const Tensor& states, int64_t n) const { return states ? states.as<T>() + n * size_.hidden : nullptr; }
  T* cell_state(const Tensor& states, int64_t n) const { return Cell::kRemembers ? state(states, n) : nullptr; }
  void copy(const T* from, T* to) const {
    if (from && to && from != to) std::copy_n(from, size_.hidden, to);
  }
  void begin_gradient(const Tensor& of, int64_t n, T* gradient) const {
    std::fill_n(gradient, size_.hidden, T{0});
    copy(state(of, n), gradient);
  }

  void take_over(const KernelRun& run, int64_t row, const T* h, const T* c) const {
    for (int64_t j = 0; j < size_.hidden; ++j) {
      taken_h(run, row)[j] = continued(cont(run, row), h[j]);
      if (c) taken_c(run, row)[j] = continued(cont(run, row), c[j]);
    }
  }

  /// z = W x + V s + U h + b
  void excite(const KernelRun& run, int64_t row) const {
    T* z = gates(run, row);
    affine(param(run, 0), param(run, 1), run.bottoms[0].as<T>() + row * size_.inputs, size_.gates, size_.inputs, z);
    if (layer_.has_static()) {
      add_product(param(run, 2), run.bottoms[2].as<T>() + row % size_.streams * size_.statics, size_.gates,
                  size_.statics, z);
    }
    add_product(param(run, layer_.hidden_weights()), taken_h(run, row), size_.gates, size_.hidden, z);
  }

  void respond(const KernelRun& run, int64_t row, T* h, T* c) const {
    for (int64_t j = 0; j < size_.hidden; ++j) {
      T* z = gates(run, row) + j;
      const auto open = Cell::open(Cell::load(z, size_.hidden));
      Cell::store(open, z, size_.hidden);
      const T remembered = Cell::remember(open, taken_c(run, row)[j]);
      if (c) c[j] = remembered;
      h[j] = Cell::put_out(open, remembered);
    }
  }

  /// From the gradients of a step's states to that of z, and to those of the states before.
  void step_back(const KernelRun& run, int64_t row, T* dh, T* dc) const {
    T* dz = at(run.scratch, dz_at_);
    for (int64_t j = 0; j < size_.hidden; ++j) {
      const auto open = Cell::load(gates(run, row) + j, size_.hidden);
      const auto slopes = Cell::slopes(open, taken_c(run, row)[j], dh[j], dc[j]);
      Cell::store(slopes.z, dz + j, size_.hidden);
      dc[j] = cont(run, row) * slopes.before;
    }
    transposed_product(param(run, layer_.hidden_weights()), dz, size_.gates, size_.hidden, false, dh);
    for (int64_t j = 0; j < size_.hidden; ++j) dh[j] *= cont(run, row);
  }

  /// To the gradients of parameters and inputs. `first`: of this stream, whose last step comes first.
  void contribute(const KernelRun& run, const Gradients& to, int64_t row, bool first) const {
    const T *dz = at(run.scratch, dz_at_), *x = run.bottoms[0].as<T>() + row * size_.inputs;
    to.x.add_outer(dz, x, size_.gates, size_.inputs);
    to.bias.add(dz, size_.gates);
    to.hidden.add_outer(dz, taken_h(run, row), size_.gates, size_.hidden);
    if (T* dx = run.bottom_diffs[0].as<T>()) {
      transposed_product(param(run, 0), dz, size_.gates, size_.inputs, false, dx + row * size_.inputs);
    }
    if (!layer_.has_static()) return;
    const int64_t fixed = row % size_.streams * size_.statics;
    to.fixed.add_outer(dz, run.bottoms[2].as<T>() + fixed, size_.gates, size_.statics);
    if (T* ds = run.bottom_diffs[2].as<T>()) {
      transposed_product(param(run, 2), dz, size_.gates, size_.statics, !first, ds + fixed);
    }
  }

  const RecurrentLayer& layer_;
  const RecurrentSize size_;
  size_t gates_at_, taken_h_at_, taken_c_at_, dz_at_, dh_at_, dc_at_;
};

}  // namespace robusta::reference
