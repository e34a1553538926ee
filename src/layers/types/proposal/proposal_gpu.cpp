// Proposal on the GPU: a thread decodes each region that was found. The list of these is the host's, as that of
// DetectionOutput is, and is written anew in every run: the net has waited for the values that it was made from. All is
// f32: 16 bits would move the regions.

#include "device/gpu/copy.h"
#include "device/gpu/for_each.h"
#include "layers/backends/gpu/constants.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/kit/booking.h"
#include "layers/kit/regions.h"
#include "layers/types/proposal/proposal.h"

namespace robusta {
namespace {

struct WriteProposal {
  ProposalCoding coding;
  const Proposed* found;
  const float *scores, *codes, *images;
  const Box<float>* anchors;
  float *rows, *row_scores;  ///< row_scores may be null
  ROBUSTA_GPU void operator()(int64_t row) const {
    coding.write(found[row], scores, codes, images, anchors, rows + row * kRegionNumbers,
                 row_scores ? row_scores + row : nullptr);
  }
};

class ProposalGpu : public Kernel {
 public:
  explicit ProposalGpu(const KernelRequest& request)
      : layer_(request.layer<ProposalLayer>()),
        rows_(request.tops[0].shape[0]),
        anchors_(copied_to_device(request, numbers_of(layer_.anchors()))) {
    book_reads_nothing(3, booking_);
    booking_.bottom_types.assign(3, DType::kF32);
    booking_.top_types.assign(request.tops.size(), DType::kF32);
    booking_.host_work = true;
    Device& device = request.device ? *request.device : cpu_device();
    found_ = std::static_pointer_cast<Proposed>(device.host_memory(static_cast<size_t>(rows_) * sizeof(Proposed)));
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    const int64_t rows = std::min(rows_, static_cast<int64_t>(layer_.found().size()));
    std::copy_n(layer_.found().begin(), rows, found_.get());
    for_each(run.stream, rows,
             WriteProposal{.coding = layer_.coding(),
                           .found = found_.get(),
                           .scores = run.bottoms[0].as<float>(),
                           .codes = run.bottoms[1].as<float>(),
                           .images = run.bottoms[2].as<float>(),
                           .anchors = static_cast<const Box<float>*>(anchors_.data()),
                           .rows = run.tops[0].as<float>(),
                           .row_scores = run.tops.size() > 1 ? run.tops[1].as<float>() : nullptr});
  }

  void backward(const KernelRun& run) override {
    for (const Tensor& gradient : run.bottom_diffs) {
      if (gradient) gpu_fill_zero(run.stream, gradient.data, gradient.desc.bytes());
    }
  }

 private:
  static std::span<const float> numbers_of(const std::vector<Box<float>>& boxes) {
    static_assert(sizeof(Box<float>) == 4 * sizeof(float));
    return {&boxes[0].xmin, 4 * boxes.size()};
  }

  const ProposalLayer& layer_;
  int64_t rows_;
  DeviceBuffer anchors_;
  std::shared_ptr<Proposed> found_;
};

std::unique_ptr<Kernel> make_proposal_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  return std::make_unique<ProposalGpu>(request);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("Proposal", "gpu", 10, make_proposal_gpu);

}  // namespace robusta
