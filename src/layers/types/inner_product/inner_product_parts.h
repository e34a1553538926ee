/// InnerProduct whose outputs the ranks of a group share out (layers/kit/model_group.h), on plain arrays of T.
///
/// With P parts of O outputs each, and N rows of I inputs on each rank, part p has W_p [O, I], rows of the parameter:
///
///   forward    X = x of all ranks [P N, I]          all-gather     y_p = X W_p^T + b_p, to whose rows they are
///   backward   dy_p [P N, O] of all ranks           all-to-all     dW_p = dy_p^T X, db_p = sums of dy_p
///              dX_p = dy_p W_p [P N, I]             to whose rows they are, and their sum there is dx
///
/// Gradients of a part are thus sums over the group's batches. A pass without ranks (Pass::ranks) is one part of all
/// outputs. Sums over the parts are made in their order: the same bits in each run.
#pragma once

#include <algorithm>
#include <string>

#include "base/parallel.h"
#include "layers/kit/kernel.h"
#include "layers/kit/model_parts.h"
#include "layers/types/inner_product/inner_product.h"
#include "ops/gemm.h"

namespace robusta {

template <typename T>
class InnerProductParts : public Kernel {
 public:
  explicit InnerProductParts(const KernelRequest& request)
      : size_(request.layer<InnerProductLayer>().size()),
        group_(*request.layer<InnerProductLayer>().group()),
        keeps_inputs_(request.backward && request.param_grads[0]) {
    const auto bytes = [this](int64_t columns) {
      return static_cast<size_t>(group_.parts() * size_.rows * columns) * sizeof(T);
    };
    const size_t inputs = bytes(size_.inputs), outputs = bytes(size_.outputs / group_.parts());
    booking_.reads_bottoms = {false};
    booking_.saved_bytes = keeps_inputs_ ? inputs : 0;
    booking_.forward_scratch = 2 * outputs + (keeps_inputs_ ? 0 : inputs);
    booking_.backward_scratch = 2 * outputs + 2 * inputs;
    booking_.asks_ranks = true;
  }

  std::string describe() const override {
    return "gemm of part " + std::to_string(group_.part() + 1) + " of " + std::to_string(group_.parts());
  }

  void forward(const KernelRun& run) override {
    const Part part = part_of(run);
    auto* const mine = static_cast<T*>(run.scratch);
    T* const pieces = mine + part.rows * part.outputs;
    T* const x = keeps_inputs_ ? static_cast<T*>(run.saved) : pieces + part.rows * part.outputs;
    gather(part, run.bottoms[0].as<T>(), x);
    const T* const w = run.params[0]->tensor().template as<T>() + part.first * size_.inputs;
    const T* const bias = run.params.size() > 1 ? run.params[1]->tensor().template as<T>() + part.first : nullptr;
    for (int64_t r = 0; bias && r < part.rows; ++r) std::copy_n(bias, part.outputs, mine + r * part.outputs);
    gemm<T>(Op::kPlain, Op::kTransposed, part.rows, part.outputs, size_.inputs, 1, x, w, bias ? 1 : 0, mine);
    pieces_of(part).join(exchange(part, mine, part.outputs, pieces), run.tops[0].as<T>());
  }

  void backward(const KernelRun& run) override {
    const Part part = part_of(run);
    auto* const pieces = static_cast<T*>(run.scratch);
    T* const received = pieces + part.rows * part.outputs;
    pieces_of(part).slice(run.top_diffs[0].as<T>(), pieces);
    const T* const dy = exchange(part, pieces, part.outputs, received);
    if (run.params[0]->learns) {
      gemm<T>(Op::kTransposed, Op::kPlain, part.outputs, size_.inputs, part.rows, 1, dy,
              static_cast<const T*>(run.saved), run.accumulate[0] ? 1 : 0,
              run.params[0]->gradient().template as<T>() + part.first * size_.inputs);
    }
    if (run.params.size() > 1 && run.params[1]->learns) {
      sum_rows(dy, part, run.accumulate[1] != 0, run.params[1]->gradient().template as<T>() + part.first);
    }
    if (!run.bottom_diffs[0]) return;
    T* const dx = received + part.rows * part.outputs;
    gemm<T>(Op::kPlain, Op::kPlain, part.rows, size_.inputs, part.outputs, 1, dy,
            run.params[0]->tensor().template as<T>() + part.first * size_.inputs, 0, dx);
    const T* const terms = exchange(part, dx, size_.inputs, dx + part.rows * size_.inputs);
    sum_parts(terms, part.count, size_.rows * size_.inputs, run.bottom_diffs[0].as<T>());
  }

 private:
  /// What this rank computes in a pass.
  struct Part {
    int count;               ///< parts that the outputs are cut into
    int64_t first, outputs;  ///< this one's
    int64_t rows;            ///< of all ranks of the group
  };

  Part part_of(const KernelRun& run) const {
    if (!run.pass || !run.pass->ranks) return {1, 0, size_.outputs, size_.rows};
    const ElementRange own = group_.own(size_.outputs);
    return {group_.parts(), own.begin, own.count(), group_.parts() * size_.rows};
  }

  void gather(const Part& part, const T* x, T* all) const {
    const int64_t count = size_.rows * size_.inputs;
    if (part.count == 1) {
      std::copy_n(x, count, all);
    } else {
      group_.all_gather(x, static_cast<size_t>(count) * sizeof(T), all);
    }
  }

  /// The rows of each rank to that rank, and what it gets from all: at `in`, or where only one part is, at `out`.
  const T* exchange(const Part& part, const T* out, int64_t columns, T* in) const {
    if (part.count == 1) return out;
    group_.all_to_all(out, static_cast<size_t>(size_.rows * columns) * sizeof(T), in);
    return in;
  }

  /// Of the top: each part has some of a row's outputs.
  PartsOfRows pieces_of(const Part& part) const { return {part.count, size_.rows, part.outputs}; }

  static void sum_rows(const T* dy, const Part& part, bool add, T* db) {
    parallel_for(part.outputs, 1 + (1 << 14) / part.rows, [=](int64_t o) {
      double sum = add ? db[o] : T{0};
      for (int64_t r = 0; r < part.rows; ++r) sum += dy[r * part.outputs + o];
      db[o] = static_cast<T>(sum);
    });
  }

  const InnerProductSize size_;
  ModelGroup& group_;
  const bool keeps_inputs_;  ///< of all ranks, from forward to backward
};

}  // namespace robusta
