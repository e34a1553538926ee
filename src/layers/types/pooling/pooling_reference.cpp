// The reference kernel of Pooling: one loop per axis, missing axes counted as one place wide.
//
//   MAX  y = the largest x of the window     dx = the sum of dy over the windows whose first largest x this is
//   AVE  y = the sum of the window / area    dx = the sum of dy / area over the windows that hold this x
//
// Backward goes window by window and adds to what it sees, where the fast kernels go pixel by pixel and gather.

#include <algorithm>
#include <cfloat>

#include "base/parallel.h"
#include "layers/kit/kernel.h"
#include "layers/types/pooling/plane_windows.h"
#include "layers/types/pooling/stochastic_pooling.h"

namespace robusta {
namespace {

template <typename T>
class PoolingReference : public Kernel {
 public:
  explicit PoolingReference(const KernelRequest& request) : PoolingReference(request, request.layer<PoolingLayer>()) {}
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const T* x = run.bottoms[0].as<T>();
    T* y = run.tops[0].as<T>();
    T* indices = run.tops.size() > 1 ? run.tops[1].as<T>() : nullptr;
    int64_t* saved = static_cast<int64_t*>(run.saved);
    for_planes([=, this](int64_t plane) {
      const T* image = x + plane * windows_.in();
      int64_t at = plane * windows_.out();
      windows_.for_windows([&](const PlaneWindows::Window& window) {
        if (is_max_) {
          const int64_t best = largest(image, window);
          y[at] = best < 0 ? T{-FLT_MAX} : image[best];
          if (indices) indices[at] = static_cast<T>(best);
          if (saved) saved[at] = best;
        } else {
          y[at] = static_cast<T>(sum(image, window) / window.area());
        }
        ++at;
      });
    });
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    T* dx = run.bottom_diffs[0].as<T>();
    const T* dy = run.top_diffs[0].as<T>();
    const int64_t* saved = static_cast<const int64_t*>(run.saved);
    for_planes([=, this](int64_t plane) {
      T* image = dx + plane * windows_.in();
      std::fill(image, image + windows_.in(), T{0});
      if (!dy) return;
      int64_t at = plane * windows_.out();
      windows_.for_windows([&](const PlaneWindows::Window& window) {
        if (is_max_) {
          if (saved[at] >= 0) image[saved[at]] += dy[at];
        } else {
          const T share = dy[at] / static_cast<T>(window.area());
          windows_.for_pixels(window, [&](int64_t pixel) { image[pixel] += share; });
        }
        ++at;
      });
    });
  }

 private:
  PoolingReference(const KernelRequest& request, const PoolingLayer& layer)
      : is_max_(layer.is_max()), planes_(layer.batch() * layer.channels()), windows_(layer) {
    booking_.repeatable = true;
    booking_.reads_bottoms = {false};
    booking_.takes_missing_top_diffs = true;  // of the index top
    if (is_max_ && request.backward) {
      booking_.saved_bytes = static_cast<size_t>(planes_ * windows_.out()) * sizeof(int64_t);
    }
  }

  template <typename Body>
  void for_planes(const Body& body) const {
    parallel_for(planes_, 1 + (1 << 14) / windows_.in(), body);
  }

  /// The first of the largest pixels, -1 when none is above -FLT_MAX.
  int64_t largest(const T* image, const PlaneWindows::Window& window) const {
    int64_t best = -1;
    T value = T{-FLT_MAX};
    windows_.for_pixels(window, [&](int64_t pixel) {
      if (image[pixel] > value) best = pixel, value = image[pixel];
    });
    return best;
  }

  double sum(const T* image, const PlaneWindows::Window& window) const {
    double total = 0;
    windows_.for_pixels(window, [&](int64_t pixel) { total += image[pixel]; });
    return total;
  }

  bool is_max_;
  int64_t planes_;
  PlaneWindows windows_;
};

std::unique_ptr<Kernel> make_pooling_reference(const KernelRequest& request, std::string&) {
  if (request.layer<PoolingLayer>().is_stochastic()) return make_stochastic_pooling(request);
  return dispatch(request.dtype(), [&](auto t) -> std::unique_ptr<Kernel> {
    return std::make_unique<PoolingReference<decltype(t)>>(request);
  });
}

}  // namespace

ROBUSTA_REGISTER_KERNEL("Pooling", "reference", 0, make_pooling_reference);

}  // namespace robusta
