/// The fast way through the steps of a recurrent layer: what needs no order is one matrix product over all steps, and
/// each step is one product with what the step before put out, then the cells (Appleyard, Kocisky and Blunsom 2016,
/// "Optimizing Performance of Recurrent Neural Networks on GPUs", sections 3.1 and 3.2).
///
/// Written once for host and GPU. A `Machine` is made of a run and says where and how:
///   Stored, Math                           what tensors hold, and the functions of cells
///   Products                               who computes which product: LibraryProducts, or as much as it has of that
///   product(shape, a, b, add, c)           c = a b, or c += that, of Stored into Stored or float
///   each(rows, width, body)                body(row, column) for all
///   clear(memory, bytes)                   zeros
///   weights(param, scratch)                a parameter W as a factor of products
///   right(param, use, kept, scratch)       W as the RightFactor of products
///   Kept, keep(use)                        what `right` may leave to later runs
///   times(m, n, k, a, right, add, c)       c = a right, or c += a right
///   expect_right(use, products)            tells `products` of those
///   sum_rows(rows, width, a, add, sums, scratch)     sums over the rows, of Stored into float
///   weights_bytes(count), right_bytes(use, kept), sum_bytes(rows, width)     of the scratch of these three
/// All arrays but those of tensors are float, or Stored where products read them.
#pragma once

#include "layers/kit/recurrent/cell_step.h"
#include "layers/kit/recurrent/recurrent_layer.h"
#include "layers/kit/recurrent/right_factor.h"
#include "layers/kit/scratch_plan.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// A kernel's name, and that of who computes its products, if there is a choice.
inline std::string named(const char* kernel, const std::string& products) {
  return products.empty() ? kernel : std::string(kernel) + " " + products;
}

/// What a kernel of a recurrent layer books, array by array.
struct RecurrentMemory {
  ScratchPlan saved, forward, backward;
  void book(Booking& booking) const {
    booking.saved_bytes = saved.bytes();
    booking.forward_scratch = forward.bytes();
    booking.backward_scratch = backward.bytes();
  }
};

template <typename Machine, template <typename> class CellOf>
class RecurrentSteps {
 public:
  using Stored = typename Machine::Stored;
  using Cell = CellOf<typename Machine::Math>;

  /// Books bottoms and tops, and plans memory and products, to which the caller may add.
  RecurrentSteps(const RecurrentLayer& layer, const KernelRequest& request, RecurrentMemory& memory,
                 typename Machine::Products& products, Booking& booking)
      : layer_(layer), size_(layer.size()), watch_(request) {
    book_tensors(request, booking);
    expect_products(request, products);
    const int64_t rows = size_.rows(), states = size_.streams * size_.hidden;
    gates_at_ = memory.saved.add(bytes<float>(rows * size_.gates));
    taken_at_ = memory.saved.add(bytes<Stored>(rows * size_.hidden));
    if (Cell::kRemembers) cells_at_ = memory.saved.add(bytes<float>((size_.steps + 1) * states));
    for (int f = 0; f < kFactors; ++f) {
      const RightUse use = use_of(Factor(f));
      // Weights that are trained change from run to run.
      if (!request.backward) kept_[f] = Machine::keep(use);
      const size_t scratch = Machine::right_bytes(use, kept_[f]);
      right_at_[f] = memory.forward.add(scratch);
      booking.kept_bytes += Machine::right_bytes(use, {}) - scratch;
      weights_at_[f] = memory.backward.add(Machine::weights_bytes(use.count()));
    }
    back_at_ = memory.backward.add(Machine::right_bytes(back_through_steps(), {}));
    offset_at_ = memory.forward.add(layer.has_static() ? bytes<float>(size_.streams * size_.gates) : 0);
    watch_at_ = memory.forward.add(Machine::Watch::scratch_bytes(rows));
    dz_at_ = memory.backward.add(bytes<Stored>(rows * size_.gates));
    later_at_ = memory.backward.add(bytes<float>(states));
    dc_at_ = memory.backward.add(Cell::kRemembers ? bytes<float>(states) : 0);
    zeros_at_ = memory.backward.add(bytes<Stored>(states));
    last_at_ = memory.backward.add(layer.exposes_hidden() ? bytes<Stored>(states) : 0);
    sums_at_ = memory.backward.add(Machine::sum_bytes(rows, size_.gates));
    static_dz_at_ = memory.backward.add(layer.has_static() ? bytes<Stored>(size_.streams * size_.gates) : 0);
  }

  /// h [steps, streams, hidden] becomes what the steps put out; states and what backward needs are kept.
  void forward(Machine& on, const KernelRun& run, Stored* h) {
    watch_.look(run.stream, run.bottoms[1].as<float>(), size_.rows(), at_offset(run.scratch, watch_at_), bad_cont());
    begin(on, run);
    Arrays a = arrays(run);
    const auto recurrent = right(on, run, kHidden);
    for (int64_t t = 0; t < size_.steps; ++t) {
      on.times(size_.streams, size_.gates, size_.hidden, a.taken + state(t), recurrent, true, a.gates + gate(t));
      t + 1 < size_.steps ? respond<true>(on, a, t, h) : respond<false>(on, a, t, h);
    }
    copy(on, h + state(size_.steps - 1), layer_.last_state(run, 0).as<float>());
    if (Cell::kRemembers) copy(on, a.cells + remembered(size_.steps), layer_.last_state(run, 1).as<float>());
  }

  /// For Kernel::check.
  void check() const { watch_.check(bad_cont()); }

  /// All gradients, from that of h; null: zero.
  void backward(Machine& on, const KernelRun& run, const Stored* dh) const {
    through_steps(on, run, dh);
    input_gradients(on, run);
    static_gradients(on, run);
    hidden_gradients(on, run);
  }

 private:
  auto bad_cont() const {
    return [this](int64_t row, double value) { return layer_.bad_cont(row, value); };
  }

  /// The matrices, in the order of their parameters.
  enum Factor { kInput, kStatic, kHidden, kFactors };

  struct Arrays {
    const float* cont;
    float* gates;   ///< [rows, gates], open
    Stored* taken;  ///< [rows, hidden]: what each step takes over of h
    float* cells;   ///< [steps + 1, streams, hidden]: the same of c, and behind it the c of the last step
  };

  template <typename T>
  static size_t bytes(int64_t count) {
    return static_cast<size_t>(count) * sizeof(T);
  }
  template <typename T>
  static T* at(void* base, size_t offset) {
    return static_cast<T*>(at_offset(base, offset));
  }

  void book_tensors(const KernelRequest& request, Booking& booking) const {
    const auto learns = [&](size_t param) { return request.backward && request.param_grads[param]; };
    booking.reads_bottoms.assign(request.bottoms.size(), false);
    booking.reads_bottoms[0] = learns(0);
    booking.reads_bottoms[1] = true;
    if (layer_.has_static()) booking.reads_bottoms[2] = learns(2);
    booking.takes_missing_top_diffs = true;
    booking.bottom_types.assign(request.bottoms.size(), DType::kF32);
    booking.bottom_types[0] = dtype_of<Stored>();
    if (layer_.has_static()) booking.bottom_types[2] = dtype_of<Stored>();
    booking.top_types.assign(request.tops.size(), DType::kF32);
    booking.top_types[0] = dtype_of<Stored>();
  }

  Arrays arrays(const KernelRun& run) const {
    return {run.bottoms[1].as<float>(), at<float>(run.saved, gates_at_), at<Stored>(run.saved, taken_at_),
            Cell::kRemembers ? at<float>(run.saved, cells_at_) : nullptr};
  }
  /// Where the states of step t begin.
  int64_t state(int64_t t) const { return t * size_.streams * size_.hidden; }
  int64_t remembered(int64_t t) const { return Cell::kRemembers ? state(t) : 0; }
  int64_t gate(int64_t t) const { return t * size_.streams * size_.gates; }

  size_t param_of(Factor f) const { return f == kInput ? 0 : f == kStatic ? 2 : layer_.hidden_weights(); }
  const Stored* weights(Machine& on, const KernelRun& run, Factor f) const {
    return on.weights(*run.params[param_of(f)], at_offset(run.scratch, weights_at_[f]));
  }
  /// x W^T: for all steps at once, or step by step.
  RightUse use_of(Factor f) const {
    const int64_t columns = f == kInput ? size_.inputs : f == kStatic ? size_.statics : size_.hidden;
    return {.op = Op::kTransposed,
            .rows = size_.gates,
            .columns = columns,
            .products = f == kHidden ? size_.steps : 1,
            .left_rows = f == kInput ? size_.rows() : size_.streams};
  }
  void expect_products(const KernelRequest& request, typename Machine::Products& products) const {
    for (const Factor f : {kInput, kStatic, kHidden}) {
      if (f == kStatic && !layer_.has_static()) continue;
      Machine::expect_right(use_of(f), products);
      if (request.backward && request.param_grads[param_of(f)]) products.expect(weight_gradient_of(f));
    }
    if (!request.backward) return;
    Machine::expect_right(back_through_steps(), products);
    if (request.bottom_grads[0]) products.expect(bottom_gradient_of(kInput));
    if (layer_.has_static() && request.bottom_grads[2]) products.expect(bottom_gradient_of(kStatic));
  }
  /// What dz has that belongs to a matrix: all steps, or for the static input their sum.
  int64_t rows_of(Factor f) const { return f == kStatic ? size_.streams : size_.rows(); }
  /// dW = dz^T from
  ProductShape weight_gradient_of(Factor f) const {
    return {Op::kTransposed, Op::kPlain, size_.gates, use_of(f).columns, rows_of(f)};
  }
  /// dx = dz W
  ProductShape bottom_gradient_of(Factor f) const {
    return {Op::kPlain, Op::kPlain, rows_of(f), use_of(f).columns, size_.gates};
  }
  /// dz W
  RightUse back_through_steps() const {
    RightUse use = use_of(kHidden);
    use.op = Op::kPlain;
    return use;
  }
  RightFactor<Stored> right(Machine& on, const KernelRun& run, Factor f) {
    return on.right(*run.params[param_of(f)], use_of(f), kept_[f], at_offset(run.scratch, right_at_[f]));
  }

  template <typename To>
  void take_over(Machine& on, const float* cont, const float* from, To* to) const {
    on.each(size_.streams, size_.hidden, TakeOver<float, To, float>{size_.hidden, cont, from, to});
  }
  template <typename From, typename To>
  void copy(Machine& on, const From* from, To* to) const {
    on.each(size_.streams, size_.hidden, CopyRows<From, To>{size_.hidden, from, to});
  }

  /// What the steps do not wait for: W x + b (+ V s), and the states before the first one.
  void begin(Machine& on, const KernelRun& run) {
    const int64_t per_step = size_.streams * size_.gates;
    const Arrays a = arrays(run);
    const float* bias = run.params[1]->tensor().template as<float>();
    if (layer_.has_static()) {
      float* offset = at<float>(run.scratch, offset_at_);
      on.each(size_.streams, size_.gates, FillRows<float>{size_.gates, bias, offset});
      on.times(size_.streams, size_.gates, size_.statics, run.bottoms[2].as<Stored>(), right(on, run, kStatic), true,
               offset);
      on.each(size_.steps, per_step, FillRows<float>{per_step, offset, a.gates});
    } else {
      on.each(size_.rows(), size_.gates, FillRows<float>{size_.gates, bias, a.gates});
    }
    on.times(size_.rows(), size_.gates, size_.inputs, run.bottoms[0].as<Stored>(), right(on, run, kInput), true,
             a.gates);
    take_over(on, a.cont, layer_.first_state(run, 0).template as<float>(), a.taken);
    if (Cell::kRemembers) take_over(on, a.cont, layer_.first_state(run, 1).template as<float>(), a.cells);
  }

  /// The cells of step t. kFollowed: there is another step.
  template <bool kFollowed>
  void respond(Machine& on, const Arrays& a, int64_t t, Stored* h) const {
    on.each(
        size_.streams, size_.hidden,
        CellForward<Cell, float, Stored, kFollowed>{.hidden = size_.hidden,
                                                    .z = a.gates + gate(t),
                                                    .gates = a.gates + gate(t),
                                                    .taken = a.cells + remembered(t),
                                                    .c = a.cells + remembered(t + 1),
                                                    .h = h + state(t),
                                                    .next_cont = kFollowed ? a.cont + (t + 1) * size_.streams : nullptr,
                                                    .next_taken = kFollowed ? a.taken + state(t + 1) : nullptr});
  }

  /// Backwards: dc and `later` are the gradients of what the next step took over, or, after the last one, dc is that of
  /// c.
  template <bool kFollowed>
  void respond_back(Machine& on, const Arrays& a, int64_t t, const Stored* dh, const float* later, float* dc,
                    Stored* dz) const {
    on.each(size_.streams, size_.hidden,
            CellBackward<Cell, Stored, Stored, kFollowed>{
                .hidden = size_.hidden,
                .gates = a.gates + gate(t),
                .cont = a.cont + t * size_.streams,
                .taken = a.cells + remembered(t),
                .dh = dh,
                .dc = dc,
                .dz = dz + gate(t),
                .dbefore = dc,
                .next_cont = kFollowed ? a.cont + (t + 1) * size_.streams : nullptr,
                .later = later});
  }

  /// Backpropagation through time (Werbos 1990): the gradients of all gates, and those of the states before the first
  /// step.
  void through_steps(Machine& on, const KernelRun& run, const Stored* dh) const {
    const Arrays a = arrays(run);
    typename Machine::Kept none;
    const auto recurrent =
        on.right(*run.params[param_of(kHidden)], back_through_steps(), none, at_offset(run.scratch, back_at_));
    Stored *dz = at<Stored>(run.scratch, dz_at_), *zeros = at<Stored>(run.scratch, zeros_at_);
    float *later = at<float>(run.scratch, later_at_), *dc = at<float>(run.scratch, dc_at_);
    const Tensor of_first = layer_.first_state_gradient(run, 0);
    if (!dh) on.clear(zeros, bytes<Stored>(state(1)));
    if (Cell::kRemembers) begin_cell_gradient(on, layer_.last_state_gradient(run, 1), dc);
    const int64_t last = size_.steps - 1;
    respond_back<false>(on, a, last, last_gradient(on, run, dh ? dh + state(last) : zeros), nullptr, dc, dz);
    for (int64_t t = last; t > 0; --t) {
      on.times(size_.streams, size_.hidden, size_.gates, dz + gate(t), recurrent, false, later);
      respond_back<true>(on, a, t - 1, dh ? dh + state(t - 1) : zeros, later, dc, dz);
    }
    if (of_first) {
      on.times(size_.streams, size_.hidden, size_.gates, dz, recurrent, false, later);
      take_over(on, a.cont, later, of_first.template as<float>());
    }
    if (!Cell::kRemembers) return;
    if (const Tensor of_c = layer_.first_state_gradient(run, 1)) copy(on, dc, of_c.template as<float>());
  }

  /// Of c after the last step.
  void begin_cell_gradient(Machine& on, const Tensor& given, float* gradient) const {
    given ? copy(on, given.as<float>(), gradient) : on.clear(gradient, bytes<float>(state(1)));
  }
  /// Of h after the last step: by the top of all steps, and by that of the state.
  const Stored* last_gradient(Machine& on, const KernelRun& run, const Stored* of_top) const {
    const Tensor of_state = layer_.last_state_gradient(run, 0);
    if (!of_state) return of_top;
    Stored* sum = at<Stored>(run.scratch, last_at_);
    on.each(size_.streams, size_.hidden,
            AddRows<Stored, float, Stored>{size_.hidden, of_top, of_state.as<float>(), sum});
    return sum;
  }

  /// dW = dz^T from, added to what is there if the parameter accumulates.
  void weight_gradient(Machine& on, const KernelRun& run, Factor f, const Stored* dz, const Stored* from) const {
    const size_t param = param_of(f);
    if (!run.params[param]->learns) return;
    on.product(weight_gradient_of(f), dz, from, run.accumulate[param] != 0,
               run.params[param]->gradient().template as<float>());
  }
  void bottom_gradient(Machine& on, const KernelRun& run, Factor f, const Stored* dz, const Tensor& dx) const {
    on.product(bottom_gradient_of(f), dz, weights(on, run, f), false, dx.as<Stored>());
  }

  void input_gradients(Machine& on, const KernelRun& run) const {
    const Stored* dz = at<Stored>(run.scratch, dz_at_);
    weight_gradient(on, run, kInput, dz, run.bottoms[0].as<Stored>());
    if (run.params[1]->learns) {
      on.sum_rows(size_.rows(), size_.gates, dz, run.accumulate[1] != 0, run.params[1]->gradient().template as<float>(),
                  at_offset(run.scratch, sums_at_));
    }
    if (run.bottom_diffs[0]) bottom_gradient(on, run, kInput, dz, run.bottom_diffs[0]);
  }

  void static_gradients(Machine& on, const KernelRun& run) const {
    if (!layer_.has_static() || !(run.params[2]->learns || run.bottom_diffs[2])) return;
    Stored* dz = at<Stored>(run.scratch, static_dz_at_);
    on.each(size_.streams, size_.gates,
            SumSteps<float, Stored>{size_.steps, size_.streams, size_.gates, at<Stored>(run.scratch, dz_at_), dz});
    weight_gradient(on, run, kStatic, dz, run.bottoms[2].as<Stored>());
    if (run.bottom_diffs[2]) bottom_gradient(on, run, kStatic, dz, run.bottom_diffs[2]);
  }

  void hidden_gradients(Machine& on, const KernelRun& run) const {
    weight_gradient(on, run, kHidden, at<Stored>(run.scratch, dz_at_), arrays(run).taken);
  }

  const RecurrentLayer& layer_;
  const RecurrentSize size_;
  typename Machine::Watch watch_;  ///< of cont
  size_t watch_at_ = 0;
  typename Machine::Kept kept_[kFactors];
  size_t gates_at_, taken_at_, cells_at_ = 0;  // saved
  size_t right_at_[kFactors], offset_at_;      // scratch of forward
  size_t weights_at_[kFactors], back_at_, dz_at_, later_at_, dc_at_, zeros_at_, last_at_, sums_at_,
      static_dz_at_;  // of backward
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
