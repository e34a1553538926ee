// The reference kernel of stochastic pooling. The gradient goes to the pixel that was drawn; of the mean y = sum x^2 /
// s with s = sum x it is dy/dx = (2 x - y) / s.

#include "layers/types/pooling/stochastic_pooling.h"

#include <algorithm>

#include "base/parallel.h"
#include "layers/types/pooling/plane_windows.h"

namespace robusta {

PoolDraws::PoolDraws(const PoolingLayer& layer, const KernelRun& run)
    : key(random_key(run.pass->seed, layer.name(), "pooling")), first_sample(run.first_sample) {}

void book_stochastic(const KernelRequest& request, size_t bytes, Booking& booking) {
  const bool training = request.layers[0]->training();
  booking.repeatable = true;
  booking.reads_position = training;
  booking.reads_bottoms = {!training};
  if (request.backward) booking.saved_bytes = static_cast<size_t>(request.tops[0].count()) * bytes;
}

namespace {

template <typename T>
class StochasticPooling : public Kernel {
 public:
  explicit StochasticPooling(const KernelRequest& request)
      : layer_(request.layer<PoolingLayer>()), windows_(layer_), in_(windows_.in()), out_(windows_.out()) {
    book_stochastic(request, sizeof(Kept), booking_);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const PoolDraws draws(layer_, run);
    auto* kept = booking_.saved_bytes > 0 ? static_cast<Kept*>(run.saved) : nullptr;
    for_planes([&](int64_t plane) {
      const T* x = run.bottoms[0].as<T>() + plane * in_;
      const int64_t sample = plane / layer_.channels(), first = plane % layer_.channels() * out_;
      int64_t o = 0;
      windows_.for_windows([&](const PlaneWindows::Window& window) {
        Kept unused, &keep = kept ? kept[plane * out_ + o] : unused;
        run.tops[0].as<T>()[plane * out_ + o] =
            layer_.training() ? drawn(x, window, draws(sample, first + o), keep) : mean(x, window, keep);
        ++o;
      });
    });
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    const auto* kept = static_cast<const Kept*>(run.saved);
    for_planes([&](int64_t plane) {
      T* dx = run.bottom_diffs[0].as<T>() + plane * in_;
      std::fill_n(dx, in_, T{0});
      int64_t at = plane * out_;
      windows_.for_windows([&](const PlaneWindows::Window& window) {
        const T dy = run.top_diffs[0].as<T>()[at];
        if (!layer_.training()) {
          add_slopes(run.bottoms[0].as<T>() + plane * in_, kept[at], window, dy, dx);
        } else if (kept[at].pixel >= 0) {
          dx[kept[at].pixel] += dy;
        }
        ++at;
      });
    });
  }

 private:
  struct Kept {
    int64_t pixel;     ///< training: the one that was drawn, -1 for a window without any
    double sum, mean;  ///< testing
  };

  template <typename Body>
  void for_planes(const Body& body) const {
    parallel_for(layer_.batch() * layer_.channels(), 1 + (1 << 14) / in_, body);
  }

  T drawn(const T* x, const PlaneWindows::Window& window, double u, Kept& keep) const {
    double sum = 0, up_to = 0;
    windows_.for_pixels(window, [&](int64_t pixel) { sum += x[pixel]; });
    int64_t last = -1, found = -1;
    windows_.for_pixels(window, [&](int64_t pixel) {
      up_to += x[pixel];
      if (found < 0 && up_to >= u * sum) found = pixel;
      last = pixel;
    });
    keep.pixel = found >= 0 ? found : last;
    return keep.pixel >= 0 ? x[keep.pixel] : T{0};
  }

  T mean(const T* x, const PlaneWindows::Window& window, Kept& keep) const {
    double sum = 0, squares = 0;
    windows_.for_pixels(window, [&](int64_t pixel) {
      sum += x[pixel];
      squares += static_cast<double>(x[pixel]) * x[pixel];
    });
    keep = {-1, sum, sum > 0 ? squares / sum : 0};
    return static_cast<T>(keep.mean);
  }

  void add_slopes(const T* x, const Kept& kept, const PlaneWindows::Window& window, T dy, T* dx) const {
    if (!(kept.sum > 0)) return;
    windows_.for_pixels(
        window, [&](int64_t pixel) { dx[pixel] += static_cast<T>(dy * (2 * x[pixel] - kept.mean) / kept.sum); });
  }

  const PoolingLayer& layer_;
  PlaneWindows windows_;
  int64_t in_, out_;  // pixels of a plane
};

}  // namespace

std::unique_ptr<Kernel> make_stochastic_pooling(const KernelRequest& request) {
  return dispatch(request.dtype(), [&](auto t) -> std::unique_ptr<Kernel> {
    return std::make_unique<StochasticPooling<decltype(t)>>(request);
  });
}

}  // namespace robusta
