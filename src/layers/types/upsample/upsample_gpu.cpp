// Upsample on the GPU: by repetition as all samplings (backends/gpu/sampling.h), by a mask through the owners of the
// pixels of the top.
//
// A thread finds the owners of every so-manieth pixel of a plane, and goes through the whole mask of the plane: so the
// last pixel with a place wins, in every run. Threads of a plane read the same, which is one access for all.

#include <algorithm>

#include "device/gpu/copy.h"
#include "layers/backends/gpu/picked_rows.h"
#include "layers/backends/gpu/sampling.h"
#include "layers/types/upsample/upsample.h"

namespace robusta {
namespace {

struct FindOwners {
  LabelReader place;
  Divisor threads;  ///< of a plane
  int64_t step, pixels_in, pixels_out;
  int64_t* owners;
  ROBUSTA_GPU void operator()(int64_t t) const {
    int64_t plane = t;
    const int64_t own = threads.take_off(plane);
    int64_t* const to = owners + plane * pixels_out;
    for (int64_t p = own; p < pixels_out; p += step) to[p] = 0;
    for (int64_t i = 0; i < pixels_in; ++i) {
      const int p = place(plane * pixels_in + i);
      if (p >= 0 && threads.remainder(int64_t{p}) == own) to[p] = i + 1;
    }
  }
};

/// An element of the top: that of its owner, or 0.
template <typename T>
struct FromOwners {
  Divisor by_pixels;
  int64_t pixels_in;
  const int64_t* owners;
  const T* x;
  T* y;
  ROBUSTA_GPU void operator()(int64_t i) const { y[i] = owners[i] ? x[place(i)] : static_cast<T>(0.0f); }
  ROBUSTA_GPU int64_t place(int64_t i) const { return by_pixels.quotient(i) * pixels_in + owners[i] - 1; }
};

/// The transpose: no two elements of the top have one owner.
template <typename T>
struct ToOwners : FromOwners<T> {
  const T* dy;
  T* dx;
  ROBUSTA_GPU void operator()(int64_t i) const {
    if (this->owners[i]) dx[this->place(i)] = dy[i];
  }
};

template <typename T>
class UpsampleByMaskGpu : public Kernel {
 public:
  explicit UpsampleByMaskGpu(const KernelRequest& request)
      : layer_(request.layer<UpsampleLayer>()), watch_(request, layer_.pixels_out(), 1, std::nullopt) {
    book_upsample(layer_, booking_);
    booking_.bottom_types = {dtype_of<T>(), DType::kF32};
    booking_.forward_scratch = reduce_all_scratch<detail::FirstBadPick>(layer_.picks().count);
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    constexpr int64_t kEnoughThreads = 1 << 14;
    const int64_t threads = std::min((kEnoughThreads + layer_.planes() - 1) / layer_.planes(), layer_.pixels_out());
    const LabelReader place = watch_.reader(run.bottoms[1].as<float>());
    auto* owners = static_cast<int64_t*>(run.saved);
    reduce_all(run.stream, layer_.picks().count, run.scratch, detail::FirstBadPick{place});
    for_each(run.stream, layer_.planes() * threads,
             FindOwners{place, Divisor(threads), threads, layer_.pixels_in(), layer_.pixels_out(), owners});
    for_each(run.stream, run.tops[0].count(), from_owners(run, run.bottoms[0].as<T>(), run.tops[0].as<T>()));
  }

  void backward(const KernelRun& run) override {
    for (const Tensor& diff : run.bottom_diffs) {
      if (diff) gpu_fill_zero(run.stream, diff.data, diff.desc.bytes());
    }
    if (!run.bottom_diffs[0]) return;
    for_each(run.stream, run.top_diffs[0].count(),
             ToOwners<T>{from_owners(run, nullptr, nullptr), run.top_diffs[0].as<T>(), run.bottom_diffs[0].as<T>()});
  }
  void check(const Pass&) override {
    if (const auto bad = watch_.take()) throw_bad_pick(bad->label, bad->place, layer_.picks());
  }

 private:
  FromOwners<T> from_owners(const KernelRun& run, const T* x, T* y) const {
    return {Divisor(layer_.pixels_out()), layer_.pixels_in(), static_cast<const int64_t*>(run.saved), x, y};
  }

  const UpsampleLayer& layer_;
  LabelWatch watch_;
};

std::unique_ptr<Kernel> make_upsample_gpu(const KernelRequest& request, std::string& why_not) {
  if (!request.layer<UpsampleLayer>().has_mask()) return make_gpu_sampling(request, why_not);
  if (!gpu_takes(request, why_not)) return nullptr;
  return make_stored<UpsampleByMaskGpu>(request);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("Upsample", "gpu", 10, make_upsample_gpu);

}  // namespace robusta
