/// The fast kernels of LSTM: the steps and nothing else. `Machine`: kit/recurrent/recurrent_steps.h.
#pragma once

#include "layers/kit/recurrent/recurrent_steps.h"
#include "layers/types/lstm/lstm.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

template <typename Machine>
class LstmKernel : public Kernel {
 public:
  using Stored = typename Machine::Stored;

  explicit LstmKernel(const KernelRequest& request) : steps_(request.layer<LstmLayer>(), request, memory_, booking_) {
    memory_.book(booking_);
  }
  std::string describe() const override { return Machine::kName; }

  void forward(const KernelRun& run) override {
    Machine on(run);
    steps_.forward(on, run, run.tops[0].as<Stored>());
  }
  void check(const Pass&) override { steps_.check(); }
  void backward(const KernelRun& run) override {
    Machine on(run);
    steps_.backward(on, run, run.top_diffs[0].as<Stored>());
  }

 private:
  RecurrentMemory memory_;
  RecurrentSteps<Machine, LstmCell> steps_;
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
