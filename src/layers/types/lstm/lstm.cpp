// LSTM and its reference kernel.

#include "layers/types/lstm/lstm.h"

#include "layers/kit/recurrent/reference_steps.h"

namespace robusta {
namespace {

template <typename T>
class LstmReference : public Kernel {
 public:
  explicit LstmReference(const KernelRequest& request)
      : steps_(request.layer<LstmLayer>(), request, saved_, scratch_, booking_) {
    booking_.saved_bytes = saved_.bytes();
    booking_.backward_scratch = scratch_.bytes();
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override { steps_.forward(run, run.tops[0].as<T>()); }
  void backward(const KernelRun& run) override { steps_.backward(run, run.top_diffs[0].as<T>()); }

 private:
  ScratchPlan saved_, scratch_;
  reference::ReferenceSteps<T, LstmCell> steps_;
};

}  // namespace

ROBUSTA_REGISTER_LAYER("LSTM", LstmLayer);
ROBUSTA_REGISTER_REFERENCE("LSTM", LstmReference);

}  // namespace robusta
