/// Which of cuDNN's engines computes a convolution.
///
/// Several plans are timed by the Tuner, on memory of their own, or the first that serves is taken, as cuDNN's
/// heuristics rank them. The choice depends on shapes, rules and versions, not on the memory that happens to be free,
/// unless there is too little to time anything in.
#pragma once

#include "device/cuda/dnn/plan.h"
#include "layers/kit/kernel.h"
#include "layers/types/convolution/dnn_problem_cuda.h"

namespace robusta {
class CudaDevice;
}

namespace robusta::dnn {

/// Where plans are made and timed.
struct Site {
  Target target;
  MathOptions rules;
  PlanCache* cache = nullptr;    ///< null: nothing is shared
  std::string gpu;               ///< its name, for records
  CudaDevice* device = nullptr;  ///< null: nothing can run, hence be timed
  Tuner* tuner = nullptr;        ///< null: nothing is timed

  /// For a device that can run and time plans.
  static Site of(CudaDevice& device, Tuner* tuner);
};

struct Choice {
  std::shared_ptr<const Plan> plan;  ///< null: cuDNN has none, or our own kernel is taken
  bool fused = false;                ///< with what the problem says of steps behind the convolution or its gradient
  bool own = false;                  ///< by a kernel of our own (depthwise_gpu.h)
  bool sums = false;                 ///< of the result, where the problem says so
  explicit operator bool() const { return plan || own; }
};

/// A plan without the steps that the problem wants fused (bias, sum, ReLU; the gate of a gradient, sums of results) is
/// as good as one with them: the caller does what is missing. `why_not` is set where there is none. `chosen`: what was
/// for the same problem without gate and sums, REQUIRED for sums; no other such plan is tried then.
Choice choose_plan(Direction direction, const Problem& problem, const Site& site, std::string& why_not,
                   const Choice* chosen = nullptr);

}  // namespace robusta::dnn
