// The alias kernel: two bookings, one for plain tensors and one for any layout, and a copy where memory is not shared.

#include "layers/kit/alias_kernel.h"

#include <cassert>

#include "layers/kit/booking.h"
#include "layers/kit/elementwise.h"

namespace robusta {
namespace {

class AliasKernel : public Kernel {
 public:
  AliasKernel(const KernelRequest& request, bool any_layout) : any_layout_(any_layout) {
    assert(request.bottoms.size() == 1 && request.tops.size() == 1);
    assert(request.bottoms[0].count() == request.tops[0].count());
    if (any_layout) book_shared_layout(request, true, booking_);
    book_reads_nothing(1, booking_);
    book_same_content(booking_);
  }
  std::string describe() const override { return any_layout_ ? "native" : "reference"; }
  void forward(const KernelRun& run) override { copy_unless_shared(run.bottoms[0], run.tops[0]); }
  void backward(const KernelRun& run) override {
    if (run.bottom_diffs[0]) copy_unless_shared(run.top_diffs[0], run.bottom_diffs[0]);
  }

 private:
  bool any_layout_;
};

}  // namespace

std::unique_ptr<Kernel> make_alias_kernel(const KernelRequest& request, bool any_layout) {
  return std::make_unique<AliasKernel>(request, any_layout);
}

std::unique_ptr<Kernel> make_plain_alias(const KernelRequest& request, std::string&) {
  return make_alias_kernel(request, false);
}

std::unique_ptr<Kernel> make_any_layout_alias(const KernelRequest& request, std::string&) {
  return make_alias_kernel(request, true);
}

}  // namespace robusta
