// DetectionLoss on the GPU. The host chooses the examples (detection_examples.h), so that a pass waits for the truth,
// and for the scores where these decide. All else is the GPU's, a thread for each place. Everything is f32: 16 bits
// would move the boxes.

#include "device/gpu/host_values.h"
#include "device/gpu/reduce.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/backends/gpu/unary.h"
#include "layers/types/detection_loss/detection_examples.h"
#include "layers/types/detection_loss/detection_loss.h"

namespace robusta {
namespace {

struct DetectionLossSum {
  double scores, boxes;
};

/// For reduce_all over all places.
struct SumOfDetections {
  using Sum = DetectionLossSum;
  DetectionTerms terms;
  const float *x, *truth, *weights;
  DetectionDivisors divisors;
  float* top;
  ROBUSTA_GPU Sum zero() const { return {0, 0}; }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const { return {a.scores + b.scores, a.boxes + b.boxes}; }
  ROBUSTA_GPU Sum term(int64_t place) const {
    const int label = terms.m.label(truth, place);
    const float weight = weights[place];
    const float scores = weight >= 0 ? weight * terms.score_loss<GpuMath>(x, place, label) : 0;
    const float boxes = label > 0 ? terms.box_loss<GpuMath>(x, truth, place) : 0;
    return {scores, boxes};
  }
  ROBUSTA_GPU void store(Sum sum) const {
    const double boxes = static_cast<double>(terms.lambda) * sum.boxes / divisors.boxes;
    top[0] = static_cast<float>(sum.scores / divisors.scores + boxes);
    top[1] = static_cast<float>(boxes);
  }
};

struct SlopesOfDetections {
  DetectionTerms terms;
  const float *x, *truth, *weights;
  const DetectionDivisors* divisors;
  const float* loss_weight;
  float* gradient;
  ROBUSTA_GPU void operator()(int64_t place) const {
    const double weight = *loss_weight;
    terms.write_slopes<GpuMath>(x, truth, place, weights[place], static_cast<float>(weight / divisors->scores),
                                static_cast<float>(weight * static_cast<double>(terms.lambda) / divisors->boxes),
                                gradient);
  }
};

class DetectionLossGpu : public Kernel {
 public:
  explicit DetectionLossGpu(const KernelRequest& request)
      : terms_(request.layer<DetectionLossLayer>().terms()),
        examples_(request.layer<DetectionLossLayer>().fields(), terms_.m, request.layers[0]->name()) {
    booking_.bottom_types.assign(2, DType::kF32);
    booking_.top_types = {DType::kF32};
    booking_.reads_bottoms = {true, true};
    booking_.saved_bytes = bytes_of_choice();
    booking_.forward_scratch = reduce_all_scratch<SumOfDetections>(terms_.m.places());
    booking_.asks_ranks = true;
    booking_.host_work = true;
    Device& device = request.device ? *request.device : cpu_device();
    truth_ = device.host_memory(static_cast<size_t>(request.bottoms[1].shape.count()) * sizeof(float));
    if (examples_.by_scores())
      predictions_ = device.host_memory(static_cast<size_t>(request.bottoms[0].shape.count()) * sizeof(float));
    choice_ = device.host_memory(bytes_of_choice());
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    copy_to_host(run.stream, truth_.get(), run.bottoms[1].as<float>(), run.bottoms[1].desc.bytes());
    if (predictions_)
      copy_to_host(run.stream, predictions_.get(), run.bottoms[0].as<float>(), run.bottoms[0].desc.bytes());
    wait_for_copies(run.stream);
    const DetectionDivisors divisors =
        examples_.choose(static_cast<const float*>(predictions_.get()), static_cast<const float*>(truth_.get()),
                         *run.pass, weights_in(choice_.get()));
    *static_cast<DetectionDivisors*>(choice_.get()) = divisors;
    copy_from_host(run.stream, run.saved, choice_.get(), bytes_of_choice());
    reduce_all(run.stream, terms_.m.places(), run.scratch,
               SumOfDetections{.terms = terms_,
                               .x = run.bottoms[0].as<float>(),
                               .truth = run.bottoms[1].as<float>(),
                               .weights = weights_in(run.saved),
                               .divisors = divisors,
                               .top = run.tops[0].as<float>()});
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    for_each(run.stream, terms_.m.places(),
             SlopesOfDetections{.terms = terms_,
                                .x = run.bottoms[0].as<float>(),
                                .truth = run.bottoms[1].as<float>(),
                                .weights = weights_in(run.saved),
                                .divisors = static_cast<const DetectionDivisors*>(run.saved),
                                .loss_weight = run.top_diffs[0].as<float>(),
                                .gradient = run.bottom_diffs[0].as<float>()});
  }

 private:
  size_t bytes_of_choice() const {
    return sizeof(DetectionDivisors) + static_cast<size_t>(terms_.m.places()) * sizeof(float);
  }
  /// The divisors, and behind them the weights.
  static float* weights_in(void* choice) {
    return reinterpret_cast<float*>(static_cast<DetectionDivisors*>(choice) + 1);
  }

  const DetectionTerms terms_;
  DetectionExamples examples_;
  std::shared_ptr<void> truth_, predictions_, choice_;  // the host's; no predictions where none are looked at
};

std::unique_ptr<Kernel> make_detection_loss_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  return std::make_unique<DetectionLossGpu>(request);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("DetectionLoss", "gpu", 10, make_detection_loss_gpu);

}  // namespace robusta
