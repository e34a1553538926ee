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

  explicit LstmKernel(const KernelRequest& request)
      : products_(request.tuner), steps_(request.layer<LstmLayer>(), request, memory_, products_, booking_) {
    memory_.book(booking_);
  }
  std::string describe() const override { return named(Machine::kName, products_.describe()); }

  void forward(const KernelRun& run) override {
    Machine on(run, products_);
    steps_.forward(on, run, run.tops[0].as<Stored>());
  }
  void check(const Pass&) override { steps_.check(); }
  void backward(const KernelRun& run) override {
    Machine on(run, products_);
    steps_.backward(on, run, run.top_diffs[0].as<Stored>());
  }

 private:
  RecurrentMemory memory_;
  typename Machine::Products products_;
  RecurrentSteps<Machine, LstmCell> steps_;
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
