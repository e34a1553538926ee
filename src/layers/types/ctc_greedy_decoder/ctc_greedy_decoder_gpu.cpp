// CTCGreedyDecoder on the GPU: a thread for each sequence. All but the scores is f32: 16 bits do not hold all labels.

#include "device/gpu/reduce.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/kit/booking.h"
#include "layers/types/ctc_greedy_decoder/ctc_greedy_decoder.h"

namespace robusta {
namespace {

template <typename T>
struct DecodeSequence {
  CtcDecoding<T, float> decoding;
  float *labels, *scores;
  double* faults;
  int32_t* rows;
  ROBUSTA_GPU void operator()(int64_t n) const {
    float* const own = labels + n * decoding.steps;
    const double score = decoding.decode(n, own);
    if (scores) scores[n] = static_cast<float>(score);
    if (faults) faults[n] = decoding.fault(n, own, rows + n * (decoding.steps + 1));
  }
};

/// A body of reduce_all.
struct MeanAccuracy {
  using Sum = double;
  const double* faults;
  int64_t samples;
  float* accuracy;
  ROBUSTA_GPU Sum zero() const { return 0; }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const { return a + b; }
  ROBUSTA_GPU Sum term(int64_t n) const { return faults[n]; }
  ROBUSTA_GPU void store(Sum sum) const { *accuracy = static_cast<float>(1 - sum / static_cast<double>(samples)); }
};

template <typename T>
class CtcGreedyDecoderGpu : public Kernel {
 public:
  explicit CtcGreedyDecoderGpu(const KernelRequest& request) : layer_(request.layer<CtcGreedyDecoderLayer>()) {
    book_scores<T>(request, booking_);
    book_reads_nothing(request.bottoms.size(), booking_);
    booking_.forward_scratch = sums_bytes() + static_cast<size_t>(layer_.samples()) * sizeof(double) +
                               static_cast<size_t>(layer_.samples() * (layer_.steps() + 1)) * sizeof(int32_t);
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    const int score_top = layer_.score_top(), accuracy_top = layer_.accuracy_top();
    const float* targets = run.bottoms.size() > 2 ? run.bottoms[2].as<float>() : nullptr;
    auto* faults = reinterpret_cast<double*>(static_cast<char*>(run.scratch) + sums_bytes());
    for_each(run.stream, layer_.samples(),
             DecodeSequence<T>{.decoding = layer_.decoding(run.bottoms[0].as<T>(), run.bottoms[1].as<float>(), targets),
                               .labels = run.tops[0].as<float>(),
                               .scores = score_top > 0 ? run.tops[static_cast<size_t>(score_top)].as<float>() : nullptr,
                               .faults = accuracy_top > 0 ? faults : nullptr,
                               .rows = reinterpret_cast<int32_t*>(faults + layer_.samples())});
    if (accuracy_top < 0) return;
    reduce_all(run.stream, layer_.samples(), run.scratch,
               MeanAccuracy{faults, layer_.samples(), run.tops[static_cast<size_t>(accuracy_top)].as<float>()});
  }

  void backward(const KernelRun&) override {}

 private:
  size_t sums_bytes() const { return reduce_all_scratch<MeanAccuracy>(layer_.samples()); }

  const CtcGreedyDecoderLayer& layer_;
};

}  // namespace

ROBUSTA_REGISTER_GPU_AS_BOTTOM("CTCGreedyDecoder", CtcGreedyDecoderGpu);

}  // namespace robusta
