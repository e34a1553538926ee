// LargeMarginInnerProduct and MarginInnerProduct: fields, shapes, parameters, and the reference kernel: three matrix
// products, and what is different at the labels.

#include "layers/types/margin_inner_product/margin_inner_product.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "base/parallel.h"
#include "base/str.h"
#include "layers/kit/axis.h"
#include "layers/kit/bottom_checks.h"
#include "layers/kit/field_checks.h"
#include "layers/kit/filler.h"
#include "layers/kit/math.h"
#include "layers/kit/matrix_product.h"
#include "ops/gemm.h"

namespace robusta {

MarginInnerProductLayer::MarginInnerProductLayer(const caffe::LayerParameter& param) : Layer(param) {
  const caffe::MarginInnerProductParameter& p = fields();
  if (p.num_output() == 0) {
    throw Error(ErrorKind::kConfig, p.has_num_output() ? "num_output is 0" : "no num_output is given",
                "give the number of classes")
        .in_field(field("num_output"));
  }
  require_finite(p.base(), field("base"));
  require_finite(p.gamma(), field("gamma"));
  require_finite(p.power(), field("power"));
  require_finite(p.lambda_min(), field("lambda_min"));
  if (p.base() < 0 || p.lambda_min() < 0) {
    throw Error(ErrorKind::kConfig, "lambda would be negative", "give 0 or more")
        .in_field(field(p.base() < 0 ? "base" : "lambda_min"));
  }
}

std::vector<Shape> MarginInnerProductLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_elements(bottoms);
  const int axis = canonical_axis(bottoms[0], fields().axis(), field("axis"));
  size_ = {.samples = bottoms[0].count(0, axis), .inputs = bottoms[0].count(axis), .classes = num_output()};
  if (bottoms[1].count() != size_.samples) {
    throw Error(ErrorKind::kConfig,
                str("there are ", size_.samples, " samples, but bottom 1 (", bottoms[1].str(), ") has other labels"),
                "give one label for each; " + field("axis") + " says where a sample begins")
        .in_field("bottom");
  }
  const Shape weights{size_.classes, size_.inputs};
  check_extents(weights);
  weights_.fix(weights, "weights");
  std::vector<int64_t> dims = bottoms[0].slice(0, axis).dims();
  dims.push_back(size_.classes);
  check_extents(Shape(dims));
  std::vector<Shape> tops{Shape(dims), Shape{1}};
  tops.resize(static_cast<size_t>(std::max(param().top_size(), 1)));
  return tops;
}

std::vector<ParamDecl> MarginInnerProductLayer::params() const {
  check_filler(fields().weight_filler(), weights_.get(), field("weight_filler"));
  return {{weights_.get(), &fields().weight_filler()}};
}

namespace {

template <typename T>
class MarginInnerProductReference : public Kernel {
 public:
  explicit MarginInnerProductReference(const KernelRequest& request)
      : layer_(request.layer<MarginInnerProductLayer>()),
        size_(layer_.size()),
        rule_(layer_),
        products_(request.tuner) {
    expect_products(request);
    booking_.reads_bottoms = {true, true};
    booking_.saved_bytes = MarginMemory<T>::bytes(size_);
    booking_.backward_scratch = static_cast<size_t>(size_.samples * size_.classes) * sizeof(T);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const T *x = run.bottoms[0].as<T>(), *labels = run.bottoms[1].as<T>();
    T *w = run.params[0]->tensor().template as<T>(), *y = run.tops[0].as<T>();
    check_labels(labels, size_.samples, 1, size_.classes, std::nullopt, *run.pass);
    const MarginMemory<T> memory(size_, run.saved);
    measure(x, size_.samples, memory.x);
    measure(w, size_.classes, memory.w);
    if (layer_.on_sphere() && layer_.training()) to_sphere(run, memory.w);
    *memory.lambda = rule_.lambda(static_cast<T>(batches_before(*run.pass)));
    if (run.tops.size() > 1) run.tops[1].as<T>()[0] = *memory.lambda;
    multiply(scores(), x, w, false, y);
    if (layer_.on_sphere() && !layer_.training()) divide(memory.w, y);
    for (int64_t n = 0; n < size_.samples; ++n) {
      const int64_t label = to_label(labels[n]);
      T& score = y[n * size_.classes + label];
      memory.products[n] = score;
      score = rule_.score(score, memory.x[n], memory.w[label], *memory.lambda);
    }
  }

  void backward(const KernelRun& run) override {
    // Once more, as a program may have written others since forward.
    check_labels(run.bottoms[1].as<T>(), size_.samples, 1, size_.classes, std::nullopt, *run.pass);
    if (run.params[0]->learns) gradient_of_weights(run);
    if (run.bottom_diffs[0]) gradient_of_samples(run);
  }

 private:
  /// y = x W^T
  ProductShape scores() const { return {Op::kPlain, Op::kTransposed, size_.samples, size_.classes, size_.inputs}; }
  /// dx = g W
  ProductShape sample_gradient() const { return {Op::kPlain, Op::kPlain, size_.samples, size_.inputs, size_.classes}; }
  /// dW = g^T x
  ProductShape weight_gradient() const {
    return {Op::kTransposed, Op::kPlain, size_.classes, size_.inputs, size_.samples};
  }
  void expect_products(const KernelRequest& request) {
    if (!std::is_same_v<T, float>) return;
    products_.expect(scores());
    if (!request.backward) return;
    if (request.bottom_grads[0]) products_.expect(sample_gradient());
    if (request.param_grads[0]) products_.expect(weight_gradient());
  }
  void multiply(const ProductShape& shape, const T* a, const T* b, bool add, T* c) const {
    if constexpr (std::is_same_v<T, float>) {
      products_.run(shape, a, b, add, c);
    } else {
      gemm<T>(shape.op_a, shape.op_b, shape.m, shape.n, shape.k, 1, a, b, add ? 1 : 0, c);
    }
  }

  /// The lengths of rows of as many elements as a sample has.
  void measure(const T* rows, int64_t count, T* lengths) const {
    parallel_for(count, 1 + (1 << 13) / size_.inputs, [=, this](int64_t row) {
      double square = 0;
      for (int64_t k = 0; k < size_.inputs; ++k) {
        square += static_cast<double>(rows[row * size_.inputs + k]) * rows[row * size_.inputs + k];
      }
      lengths[row] = static_cast<T>(std::sqrt(square));
    });
  }

  /// A row of zeros stays one.
  void to_sphere(const KernelRun& run, T* lengths) const {
    T* w = run.params[0]->tensor().template as<T>();
    parallel_for(size_.classes, 1 + (1 << 13) / size_.inputs, [=, this](int64_t c) {
      if (!(lengths[c] > 0)) return;
      for (int64_t k = 0; k < size_.inputs; ++k) w[c * size_.inputs + k] /= lengths[c];
      lengths[c] = 1;
    });
    // Copies that kernels keep of the weights in layouts of their own are stale from here on.
    ++run.params[0]->version;
  }

  /// The same for the scores alone, where weights are another net's to change.
  void divide(T* lengths, T* y) const {
    for (int64_t c = 0; c < size_.classes; ++c) {
      if (!(lengths[c] > 0)) continue;
      for (int64_t n = 0; n < size_.samples; ++n) y[n * size_.classes + c] /= lengths[c];
      lengths[c] = 1;
    }
  }

  /// What comes back for the scores, that of the label times of(product, |x|, |w|, lambda).
  template <typename Of>
  T* weighed(const KernelRun& run, const Of& of) const {
    const MarginMemory<T> memory(size_, run.saved);
    T* g = static_cast<T*>(run.scratch);
    std::copy_n(run.top_diffs[0].as<T>(), size_.samples * size_.classes, g);
    for (int64_t n = 0; n < size_.samples; ++n) {
      const int64_t label = to_label(run.bottoms[1].as<T>()[n]);
      g[n * size_.classes + label] *= of(memory.products[n], memory.x[n], memory.w[label], *memory.lambda);
    }
    return g;
  }

  /// The product of matrices has what is a multiple of the weights of each class; what is a multiple of the sample
  /// itself is added to it.
  void gradient_of_samples(const KernelRun& run) const {
    const T *x = run.bottoms[0].as<T>(), *labels = run.bottoms[1].as<T>(), *dy = run.top_diffs[0].as<T>();
    T* dx = run.bottom_diffs[0].as<T>();
    const T* g = weighed(run, [this](T product, T of_x, T of_w, T lambda) {
      T times_w, times_x;
      rule_.by_x(product, of_x, of_w, lambda, times_w, times_x);
      return times_w;
    });
    multiply(sample_gradient(), g, run.params[0]->tensor().template as<T>(), false, dx);
    const MarginMemory<T> memory(size_, run.saved);
    for (int64_t n = 0; n < size_.samples; ++n) {
      const int64_t label = to_label(labels[n]);
      T times_w, times_x;
      rule_.by_x(memory.products[n], memory.x[n], memory.w[label], *memory.lambda, times_w, times_x);
      const T factor = dy[n * size_.classes + label] * times_x;
      for (int64_t i = n * size_.inputs; i < (n + 1) * size_.inputs; ++i) dx[i] += factor * x[i];
    }
  }

  void gradient_of_weights(const KernelRun& run) const {
    const T *labels = run.bottoms[1].as<T>(), *dy = run.top_diffs[0].as<T>();
    const T* w = run.params[0]->tensor().template as<T>();
    T* dw = run.params[0]->gradient().template as<T>();
    const T* g = weighed(run, [this](T product, T of_x, T of_w, T lambda) {
      T times_x, times_w;
      rule_.by_w(product, of_x, of_w, lambda, times_x, times_w);
      return times_x;
    });
    multiply(weight_gradient(), g, run.bottoms[0].as<T>(), run.accumulate[0] != 0, dw);
    const MarginMemory<T> memory(size_, run.saved);
    for (int64_t n = 0; n < size_.samples; ++n) {
      const int64_t label = to_label(labels[n]);
      T times_x, times_w;
      rule_.by_w(memory.products[n], memory.x[n], memory.w[label], *memory.lambda, times_x, times_w);
      const T factor = dy[n * size_.classes + label] * times_w;
      for (int64_t k = 0; k < size_.inputs; ++k) {
        dw[label * size_.inputs + k] += factor * w[label * size_.inputs + k];
      }
    }
  }

  const MarginInnerProductLayer& layer_;
  const MarginSize size_;
  MarginRule<ExactMath<T>> rule_;
  LibraryProducts products_;
};

std::unique_ptr<Layer> make_margin_layer(const caffe::LayerParameter& param) {
  return std::make_unique<MarginInnerProductLayer>(param);
}

std::unique_ptr<Kernel> make_margin_reference(const KernelRequest& request, std::string&) {
  return dispatch(request.dtype(), [&](auto t) -> std::unique_ptr<Kernel> {
    return std::make_unique<MarginInnerProductReference<decltype(t)>>(request);
  });
}

[[maybe_unused]] const bool registered_margin =
    register_layer("MarginInnerProduct", make_margin_layer) &&
    register_layer("LargeMarginInnerProduct", make_margin_layer) &&
    register_kernel({"MarginInnerProduct", "reference", "cpu", 0, make_margin_reference}) &&
    register_kernel({"LargeMarginInnerProduct", "reference", "cpu", 0, make_margin_reference});

}  // namespace

}  // namespace robusta
