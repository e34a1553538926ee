// The kernels of gathers on the host: forward the copy, backward its transpose, each made once.

#include "layers/kit/booking.h"
#include "layers/kit/elementwise.h"
#include "layers/kit/gather_layer.h"

namespace robusta {
namespace {

template <typename T>
class GatherKernel : public Kernel {
 public:
  using Run = void (*)(const Gather&, const T*, T*);

  GatherKernel(const KernelRequest& request, const char* name, Run run)
      : name_(name),
        run_(run),
        there_(plain_gather(request.layer<GatherLayer>(), request.bottoms[0].shape)),
        back_(transposed(there_, request.bottoms[0].count())),
        identity_(there_.is_identity(request.bottoms[0].count())) {
    book_gather(request, identity_, {}, booking_);
  }
  std::string describe() const override { return name_; }

  void forward(const KernelRun& run) override { copy(there_, run.bottoms[0], run.tops[0]); }
  void backward(const KernelRun& run) override {
    if (run.bottom_diffs[0]) copy(back_, run.top_diffs[0], run.bottom_diffs[0]);
    for (const Tensor& diff : run.bottom_diffs.subspan(1)) {
      if (diff) fill_zero(diff);
    }
  }

 private:
  void copy(const Gather& gather, const Tensor& from, const Tensor& to) const {
    if (identity_) return copy_unless_shared(from, to);
    run_(gather, from.as<T>(), to.as<T>());
  }

  const char* name_;
  Run run_;
  Gather there_, back_;  // forward; its transpose
  bool identity_;        // the top is the bottom's memory in its order: a copy
};

std::unique_ptr<Kernel> make_gather_reference(const KernelRequest& request, std::string&) {
  return dispatch(request.dtype(), [&](auto t) -> std::unique_ptr<Kernel> {
    using T = decltype(t);
    return std::make_unique<GatherKernel<T>>(request, "reference", run_gather<T>);
  });
}

std::unique_ptr<Kernel> make_gather_native(const KernelRequest& request, std::string& why_not) {
  if (!is_f32(request, why_not)) return nullptr;
  return std::make_unique<GatherKernel<float>>(request, "native", run_gather_fast);
}

}  // namespace

Gather plain_gather(const GatherLayer& layer, const Shape& bottom) {
  std::vector<GatherAxis> all;
  for (const auto& steps : layer.steps(plain_strides(bottom.dims()))) all.insert(all.end(), steps.begin(), steps.end());
  Gather gather = coalesced(all);
  gather.fill = layer.fill();
  return gather;
}

void book_gather(const KernelRequest& request, bool identity, const GatherLayouts& layouts, Booking& booking) {
  book_reads_nothing(request.bottoms.size(), booking);
  booking.repeatable = true;
  // Nobody looks into the others: they stay as they lie.
  for (const TensorDesc& bottom : request.bottoms) booking.bottom_layouts.push_back(bottom.layout);
  booking.bottom_layouts[0] = layouts.bottom;
  booking.top_layouts = {layouts.top};
  if (!identity) return;
  // The same bytes in another layout are another content: axes have changed places.
  const bool same = same_layout(layouts.bottom, layouts.top);
  booking.forward_aliases = {{0, 0, same}};
  booking.backward_aliases = {{0, 0, same}};
}

bool register_gather_kernels(const std::string& type) {
  return register_kernel({type, "reference", "cpu", 0, make_gather_reference}) &&
         register_kernel({type, "native", "cpu", 10, make_gather_native});
}

}  // namespace robusta
