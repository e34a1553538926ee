// Where factors lie that are repeated, and the reference kernel. Sums are carried in double.

#include "layers/kit/product.h"

#include <algorithm>

#include "base/parallel.h"
#include "layers/kit/elementwise.h"

namespace robusta {
namespace {

/// Steps of a factor along the axes of the top; 0 where it is repeated.
Extents steps_of(const Extents& factor, const Extents& top) {
  Extents steps = plain_strides(factor);
  for (size_t a = 0; a < top.size(); ++a) {
    if (factor[a] != top[a]) steps[a] = 0;
  }
  return steps;
}

Gather gather_of(const Extents& extents, const Extents& steps) {
  std::vector<GatherAxis> axes;
  for (size_t a = 0; a < extents.size(); ++a) axes.push_back({.extent = extents[a], .stride = steps[a]});
  return coalesced(axes);
}

/// Axes along which the factor moves are rows, those along which it is repeated columns.
ProductGradient gradient_of(const Extents& top, const Extents& own, const Extents& other) {
  const Extents dy = plain_strides(top);
  Extents extents[2], dy_steps[2], other_steps[2];
  for (size_t a = 0; a < top.size(); ++a) {
    const int column = own[a] == 0 && top[a] > 1;
    extents[column].push_back(top[a]);
    dy_steps[column].push_back(dy[a]);
    other_steps[column].push_back(other[a]);
  }
  return {.row_dy = gather_of(extents[0], dy_steps[0]),
          .row_other = gather_of(extents[0], other_steps[0]),
          .column_dy = gather_of(extents[1], dy_steps[1]),
          .column_other = gather_of(extents[1], other_steps[1])};
}

}  // namespace

Product make_product(const Extents& top, const Extents& first, const Extents& second) {
  const Extents steps[] = {steps_of(first, top), steps_of(second, top)};
  Product product;
  for (size_t f = 0; f < 2; ++f) {
    product.factors[f] = gather_of(top, steps[f]);
    product.gradients[f] = gradient_of(top, steps[f], steps[1 - f]);
  }
  return product;
}

FactorGradient factor_gradient(const ProductLayer& layer, const KernelRun& run, int f) {
  const int bottom = layer.factor_bottom(f);
  if (bottom >= 0) return {run.bottom_diffs[static_cast<size_t>(bottom)]};
  if (!run.params[0]->learns) return {};
  return {run.params[0]->gradient(), run.accumulate[0] != 0};
}

void book_product(const KernelRequest& request, Booking& booking) {
  const auto& layer = request.layer<ProductLayer>();
  booking.repeatable = true;
  booking.reads_bottoms.assign(request.bottoms.size(), false);
  for (const int f : {0, 1}) {
    const int own = layer.factor_bottom(f), other = layer.factor_bottom(1 - f);
    if (own < 0 || !request.backward) continue;
    booking.reads_bottoms[static_cast<size_t>(own)] =
        other < 0 ? request.param_grads[0] : request.bottom_grads[static_cast<size_t>(other)];
  }
  if (layer.added_bottom() >= 0) booking.backward_aliases = {{0, layer.added_bottom(), true}};
}

namespace {

/// Two gathers of one destination, taken in runs along which both step evenly: coalesced, each has the last axes of the
/// destination as one, and the fewer of those divide the more.
struct Runs {
  const Gather &a, &b;
  int64_t length = std::min(a.axes.back().extent, b.axes.back().extent), count = a.count() / length;

  /// Calls body(k, place in a, place in b) for the elements k of run r.
  template <typename Body>
  void for_run(int64_t r, const Body& body) const {
    const int64_t in_a = place_of(a, r * length), in_b = place_of(b, r * length);
    const int64_t step_a = a.axes.back().stride, step_b = b.axes.back().stride;
    for (int64_t k = 0; k < length; ++k) body(r * length + k, in_a + k * step_a, in_b + k * step_b);
  }
};

template <typename T>
class ProductReference : public Kernel {
 public:
  explicit ProductReference(const KernelRequest& request) : layer_(request.layer<ProductLayer>()) {
    book_product(request, booking_);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const T *a = factor_of(layer_, run, 0).template as<T>(), *b = factor_of(layer_, run, 1).template as<T>();
    const int added = layer_.added_bottom();
    const T* c = added < 0 ? nullptr : run.bottoms[static_cast<size_t>(added)].template as<T>();
    T* y = run.tops[0].as<T>();
    const Runs runs{layer_.product().factors[0], layer_.product().factors[1]};
    parallel_for(runs.count, 1 + (1 << 12) / runs.length, [&](int64_t r) {
      runs.for_run(r, [=](int64_t i, int64_t p, int64_t q) { y[i] = a[p] * b[q] + (c ? c[i] : T{0}); });
    });
  }

  void backward(const KernelRun& run) override {
    for (const int f : {0, 1}) {
      const FactorGradient target = factor_gradient(layer_, run, f);
      if (!target.tensor) continue;
      if (!has_gradient(layer_, f)) {
        fill_zero(target.tensor);
        continue;
      }
      sum(layer_.product().gradients[static_cast<size_t>(f)], run.top_diffs[0].as<T>(),
          factor_of(layer_, run, 1 - f).template as<T>(), target);
    }
    const int added = layer_.added_bottom();
    if (added < 0) return;
    const Tensor& diff = run.bottom_diffs[static_cast<size_t>(added)];
    if (diff) copy_unless_shared(run.top_diffs[0], diff);
  }

 private:
  static void sum(const ProductGradient& g, const T* dy, const T* other, const FactorGradient& target) {
    T* to = target.tensor.as<T>();
    const Runs rows{g.row_dy, g.row_other}, columns{g.column_dy, g.column_other};
    parallel_for(rows.count, 1 + (1 << 12) / (rows.length * g.column_dy.count()), [&](int64_t r) {
      rows.for_run(r, [&](int64_t row, int64_t in_dy, int64_t in_other) {
        const double before = target.add ? static_cast<double>(to[row]) : 0;
        to[row] = static_cast<T>(before + dot(columns, dy + in_dy, other + in_other));
      });
    });
  }

  static double dot(const Runs& columns, const T* dy, const T* other) {
    if (columns.count * columns.length == 1) return static_cast<double>(*dy) * static_cast<double>(*other);
    double total = 0;
    for (int64_t c = 0; c < columns.count; ++c) {
      columns.for_run(c, [&](int64_t, int64_t p, int64_t q) {
        total += static_cast<double>(dy[p]) * static_cast<double>(other[q]);
      });
    }
    return total;
  }

  const ProductLayer& layer_;
};

std::unique_ptr<Kernel> make_product_reference(const KernelRequest& request, std::string&) {
  return dispatch(request.dtype(), [&](auto t) -> std::unique_ptr<Kernel> {
    return std::make_unique<ProductReference<decltype(t)>>(request);
  });
}

}  // namespace

bool register_product_kernel(const std::string& type) {
  return register_kernel({type, "reference", "cpu", 0, make_product_reference});
}

}  // namespace robusta
