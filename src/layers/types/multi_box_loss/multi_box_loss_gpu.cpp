// MultiBoxLoss on the GPU. The host matches and mines (multi_box_matching.h), so that a pass waits: once for the ground
// truth, and once more for the losses that examples are mined by, which the GPU computes. All else is the GPU's, a
// thread for each box or place. Everything is f32: 16 bits would move the boxes.

#include "device/gpu/host_values.h"
#include "device/gpu/reduce.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/backends/gpu/loss.h"
#include "layers/backends/gpu/unary.h"
#include "layers/types/multi_box_loss/multi_box_loss.h"

namespace robusta {
namespace {

/// What all bodies look at.
struct MultiBoxTerms {
  MultiBoxLocations locations;
  MultiBoxScores scores;
  const float *codes, *x, *prior_boxes, *truth;
  MultiBoxDecisions decisions;

  ROBUSTA_GPU float location_loss(int64_t place) const {
    const int64_t classes = locations.e.box_classes();
    float sum = 0;
    for (int64_t box = place * classes; box < (place + 1) * classes; ++box) {
      if (decisions.rows[box] < 0) continue;
      sum += locations.value<GpuMath>(codes, prior_boxes, truth, box, decisions.rows[box]);
    }
    return sum;
  }
  ROBUSTA_GPU float score_loss(int64_t place) const {
    return scores.value<GpuMath>(x + place * scores.e.classes, decisions.labels[place],
                                 decisions.rows + place * scores.e.box_classes());
  }
};

struct LossOfPlace {
  MultiBoxTerms terms;
  bool with_location;
  float* losses;
  ROBUSTA_GPU void operator()(int64_t place) const {
    losses[place] = terms.score_loss(place) + (with_location ? terms.location_loss(place) : 0);
  }
};

/// For reduce_all over all places.
struct SumOfPlaces : JoinLosses {
  MultiBoxTerms terms;
  double of_locations, of_scores;
  LossEnd end;
  ROBUSTA_GPU Sum term(int64_t place) const {
    const double location = terms.location_loss(place), score = terms.score_loss(place);
    return {of_locations * location + of_scores * score, 0, kNoPlace};
  }
  ROBUSTA_GPU void store(Sum sum) const { end.store(sum); }
};

struct SlopesOfBox {
  MultiBoxTerms terms;
  const LossResult* result;
  const float* loss_weight;
  float weight;
  float* gradient;
  ROBUSTA_GPU void operator()(int64_t box) const {
    terms.locations.write_slopes<GpuMath>(terms.codes, terms.prior_boxes, terms.truth, box, terms.decisions.rows[box],
                                          weight * result->scale(loss_weight), gradient + box * 4);
  }
};

struct SlopesOfScores {
  MultiBoxTerms terms;
  const LossResult* result;
  const float* loss_weight;
  float weight;
  float* gradient;
  ROBUSTA_GPU void operator()(int64_t place) const {
    const MultiBoxExtents& e = terms.scores.e;
    terms.scores.write_slopes<GpuMath>(terms.x + place * e.classes, terms.decisions.labels[place],
                                       terms.decisions.rows + place * e.box_classes(),
                                       weight * result->scale(loss_weight), gradient + place * e.classes);
  }
};

class MultiBoxLossGpu : public Kernel {
 public:
  explicit MultiBoxLossGpu(const KernelRequest& request)
      : layer_(request.layer<MultiBoxLossLayer>()), e_(layer_.extents()), matching_(layer_.fields(), e_) {
    booking_.bottom_types.assign(4, DType::kF32);
    booking_.top_types = {DType::kF32};
    booking_.reads_bottoms.assign(4, true);
    booking_.saved_bytes = sizeof(LossResult) + bytes_of_decisions();
    booking_.forward_scratch =
        std::max(reduce_all_scratch<SumOfPlaces>(e_.places()), static_cast<size_t>(e_.places()) * sizeof(float));
    booking_.asks_ranks = layer_.normalizer().counts_labels();
    booking_.host_work = true;
    Device& device = request.device ? *request.device : cpu_device();
    const auto host = [&](int64_t numbers) {
      return std::static_pointer_cast<float>(device.host_memory(static_cast<size_t>(numbers) * sizeof(float)));
    };
    truth_ = host(e_.rows * kTrueBoxNumbers);
    prior_boxes_ = host(e_.priors * 8);
    if (matching_.reads_codes()) codes_ = host(e_.boxes() * 4);
    if (matching_.mines()) losses_ = host(e_.places());
    decisions_ = std::static_pointer_cast<int32_t>(device.host_memory(bytes_of_decisions()));
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    const MultiBoxTerms terms = terms_of(run);
    const MultiBoxDecisions host{decisions_.get(), decisions_.get() + e_.boxes()};
    bring(run, 3, truth_.get());
    bring(run, 2, prior_boxes_.get());
    if (codes_) bring(run, 0, codes_.get());
    wait_for_copies(run.stream);
    matching_.read({truth_.get(), static_cast<size_t>(e_.rows * kTrueBoxNumbers)}, prior_boxes_.get());
    matching_.match(codes_.get(), host);
    if (matching_.mines()) {
      copy_from_host(run.stream, terms.decisions.rows, host.rows, bytes_of_decisions());
      auto* losses = static_cast<float*>(run.scratch);
      for_each(run.stream, e_.places(), LossOfPlace{terms, matching_.mines_by_location(), losses});
      copy_to_host(run.stream, losses_.get(), losses, static_cast<size_t>(e_.places()) * sizeof(float));
      wait_for_copies(run.stream);
      matching_.mine(codes_.get(), losses_.get(), host);
    }
    copy_from_host(run.stream, terms.decisions.rows, host.rows, bytes_of_decisions());
    const double divisor = layer_.divisor(matching_.matches(host), *run.pass);
    const LossEnd end{static_cast<LossResult*>(run.saved), run.tops[0].as<float>(), divisor, false};
    reduce_all(run.stream, e_.places(), run.scratch, SumOfPlaces{{}, terms, layer_.weight(0), layer_.weight(1), end});
  }

  void backward(const KernelRun& run) override {
    const MultiBoxTerms terms = terms_of(run);
    const auto* result = static_cast<const LossResult*>(run.saved);
    const auto* loss_weight = run.top_diffs[0].as<float>();
    const auto weight = [this](int bottom) { return static_cast<float>(layer_.weight(bottom)); };
    if (run.bottom_diffs[0]) {
      for_each(run.stream, e_.boxes(),
               SlopesOfBox{terms, result, loss_weight, weight(0), run.bottom_diffs[0].as<float>()});
    }
    if (run.bottom_diffs[1]) {
      for_each(run.stream, e_.places(),
               SlopesOfScores{terms, result, loss_weight, weight(1), run.bottom_diffs[1].as<float>()});
    }
  }

 private:
  size_t bytes_of_decisions() const { return static_cast<size_t>(e_.boxes() + e_.places()) * sizeof(int32_t); }

  MultiBoxTerms terms_of(const KernelRun& run) const {
    auto* rows = reinterpret_cast<int32_t*>(static_cast<LossResult*>(run.saved) + 1);
    return {layer_.locations(),         layer_.scores(),
            run.bottoms[0].as<float>(), run.bottoms[1].as<float>(),
            run.bottoms[2].as<float>(), run.bottoms[3].as<float>(),
            {rows, rows + e_.boxes()}};
  }

  static void bring(const KernelRun& run, size_t bottom, float* to_host) {
    copy_to_host(run.stream, to_host, run.bottoms[bottom].as<float>(), run.bottoms[bottom].desc.bytes());
  }

  const MultiBoxLossLayer& layer_;
  const MultiBoxExtents e_;
  MultiBoxMatching matching_;
  std::shared_ptr<float> truth_, prior_boxes_, codes_, losses_;  ///< the host's
  std::shared_ptr<int32_t> decisions_;                           ///< the same: rows, then labels
};

std::unique_ptr<Kernel> make_multi_box_loss_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  return std::make_unique<MultiBoxLossGpu>(request);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("MultiBoxLoss", "gpu", 10, make_multi_box_loss_gpu);

}  // namespace robusta
