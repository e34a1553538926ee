// Im2col: shapes, and the reference kernel, which unfolds image by image.

#include "layers/types/im2col/im2col_layer.h"

#include "layers/kit/axis.h"
#include "layers/kit/bottom_checks.h"
#include "layers/kit/kernel.h"
#include "layers/kit/windows.h"
#include "ops/im2col.h"

namespace robusta {

std::vector<Shape> Im2colLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_elements(bottoms);
  const Shape& bottom = bottoms[0];
  const auto& given = param().convolution_param();
  const int axis = canonical_axis(bottom, given.axis(), "convolution_param.axis");
  std::vector<WindowAxis> axes = read_windows(given, static_cast<size_t>(bottom.axes() - axis - 1));
  set_convolved_extents(given, bottom, axis, axes);
  std::vector<int64_t> dims = bottom.slice(0, axis + 1).dims();
  for (const WindowAxis& a : axes) {
    dims[static_cast<size_t>(axis)] = product_or_most(dims[static_cast<size_t>(axis)], a.kernel);
    dims.push_back(a.out);
  }
  check_extents(Shape(dims));
  batch_ = bottom.count(0, axis);
  channels_ = bottom[axis];
  axes_ = axes;
  return {Shape(std::move(dims))};
}

namespace {

template <typename T>
class Im2colReference : public Kernel {
 public:
  explicit Im2colReference(const KernelRequest& request)
      : layer_(request.layer<Im2colLayer>()),
        image_(layer_.channels() * elements_in(layer_.axes())),
        columns_(layer_.channels() * taps(layer_.axes()) * elements_out(layer_.axes())) {
    book_im2col(booking_);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const T* x = run.bottoms[0].as<T>();
    T* y = run.tops[0].as<T>();
    for (int64_t n = 0; n < layer_.batch(); ++n) {
      im2col(x + n * image_, layer_.channels(), layer_.axes(), y + n * columns_);
    }
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    const T* dy = run.top_diffs[0].as<T>();
    T* dx = run.bottom_diffs[0].as<T>();
    for (int64_t n = 0; n < layer_.batch(); ++n) {
      col2im(dy + n * columns_, layer_.channels(), layer_.axes(), dx + n * image_);
    }
  }

 private:
  const Im2colLayer& layer_;
  int64_t image_, columns_;  // elements of one sample
};

}  // namespace

ROBUSTA_REGISTER_LAYER("Im2col", Im2colLayer);
ROBUSTA_REGISTER_REFERENCE("Im2col", Im2colReference);

}  // namespace robusta
