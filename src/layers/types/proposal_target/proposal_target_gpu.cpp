// ProposalTarget on the GPU. The host chooses the rows (region_choice.h), for which a pass waits for both bottoms, and
// a thread writes each of them. The list is the host's and is written anew in every run, in memory that GPUs reach:
// nothing of the pass before is under way then. Everything is f32: 16 bits would move the boxes.

#include <algorithm>

#include "device/gpu/for_each.h"
#include "device/gpu/host_values.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/kit/booking.h"
#include "layers/types/proposal_target/proposal_target.h"

namespace robusta {
namespace {

struct WriteTargets {
  TargetWriter<float> writer;
  const TargetRow* chosen;
  ROBUSTA_GPU void operator()(int64_t row) const { writer.write(chosen[row], row); }
};

class ProposalTargetGpu : public Kernel {
 public:
  explicit ProposalTargetGpu(const KernelRequest& request)
      : layer_(request.layer<ProposalTargetLayer>()),
        choice_(layer_.fields(), layer_.name()),
        rows_(request.tops[0].shape[0]) {
    book_reads_nothing(2, booking_);
    booking_.bottom_types.assign(2, DType::kF32);
    booking_.top_types.assign(request.tops.size(), DType::kF32);
    booking_.host_work = true;
    Device& device = request.device ? *request.device : cpu_device();
    const auto bytes = [](int64_t count, size_t each) { return static_cast<size_t>(count) * each; };
    chosen_ = std::static_pointer_cast<TargetRow>(device.host_memory(bytes(rows_, sizeof(TargetRow))));
    for (size_t i = 0; i < 2 && !layer_.takes_all(); ++i) {
      bottoms_[i] =
          std::static_pointer_cast<float>(device.host_memory(bytes(request.bottoms[i].shape.count(), sizeof(float))));
    }
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    const std::vector<TargetRow>& chosen = layer_.takes_all() ? layer_.chosen() : choose(run);
    const int64_t rows = std::min(rows_, static_cast<int64_t>(chosen.size()));
    std::copy_n(chosen.begin(), rows, chosen_.get());
    for_each(run.stream, rows, WriteTargets{layer_.writer<float>(run), chosen_.get()});
  }

  void backward(const KernelRun&) override {}

 private:
  const std::vector<TargetRow>& choose(const KernelRun& run) {
    for (size_t i = 0; i < 2; ++i)
      copy_to_host(run.stream, bottoms_[i].get(), run.bottoms[i].as<float>(), run.bottoms[i].desc.bytes());
    wait_for_copies(run.stream);
    const auto values = [&](size_t i) {
      return std::span<const float>(bottoms_[i].get(), static_cast<size_t>(run.bottoms[i].count()));
    };
    return choice_.choose(values(0), values(1), run.pass);
  }

  const ProposalTargetLayer& layer_;
  RegionChoice choice_;
  int64_t rows_;
  std::shared_ptr<float> bottoms_[2];  // the host's; none where the layer has chosen
  std::shared_ptr<TargetRow> chosen_;  // the same, in memory that GPUs reach
};

std::unique_ptr<Kernel> make_proposal_target_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  return std::make_unique<ProposalTargetGpu>(request);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("ProposalTarget", "gpu", 10, make_proposal_target_gpu);

}  // namespace robusta
