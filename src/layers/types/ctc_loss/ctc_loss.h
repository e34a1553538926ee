/// CtcLoss: the loss of a sequence of labels without alignment (Graves, Fernandez, Gomez, Schmidhuber 2006,
/// "Connectionist Temporal Classification: Labelling Unsegmented Sequence Data with Recurrent Neural Networks").
/// Shared by its kernels.
///
///   L = - sum over samples of log p / N, p being the probability of all paths that say the labels
///
/// As in yalecyu/crnn.caffe (ctc_loss_layer.cpp, which calls Baidu's warp-ctc). Bottoms: scores [T, N, alphabet_size],
/// whose softmax are the probabilities of a time step, the first time_step of which count; labels [N, ...], those of
/// them that are blank_label being left out. The gradient is N times that of L, as there. A sequence that needs more
/// steps than there are has neither loss nor gradient, as there. One without labels counts, where crnn.caffe ends.
///
/// Probabilities of paths are kept as logarithms: they are products of as many factors as there are steps.
#pragma once

#include "base/half.h"
#include "layers/kit/labels.h"
#include "layers/kit/layer.h"
#include "layers/kit/loss_normalizer.h"

namespace robusta {

/// Scores are [steps, samples, classes], of which `counted` steps count; `width` labels belong to each sample.
struct CtcExtents {
  int64_t steps = 1, samples = 1, classes = 1, counted = 1, width = 1;  ///< classes: the blank among them
  int64_t blank = 0;

  /// The longest sequence of blanks and labels in turn that a path goes along.
  ROBUSTA_HOST_DEVICE int64_t most_states() const { return 2 * width + 1; }
  ROBUSTA_HOST_DEVICE int64_t score_at(int64_t step, int64_t sample, int64_t c) const {
    return (step * samples + sample) * classes + c;
  }
  ROBUSTA_HOST_DEVICE int64_t rows() const { return counted * samples; }
};

class CtcLossLayer : public Layer {
 public:
  explicit CtcLossLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {2, 2, 1, 1}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  bool is_loss() const override { return true; }
  bool allows_gradient(int bottom) const override { return bottom == 0; }
  std::optional<LabelUse> label_use(const std::vector<Shape>&) const override {
    return LabelUse{0, 1, extents_.classes, std::nullopt};
  }
  double forward_flops(const std::vector<Shape>& bottoms, const std::vector<Shape>&) const override {
    return 10 * static_cast<double>(bottoms[0].count());
  }

  /// After infer_tops.
  const CtcExtents& extents() const { return extents_; }
  double loss_divisor(StepReduce* ranks) const {
    return of_loss_.divisor(extents_.samples, extents_.samples, extents_.samples, ranks);
  }
  double gradient_divisor(StepReduce* ranks) const { return of_gradient_.divisor(1, 1, 1, ranks); }

 private:
  CtcExtents extents_;
  LossNormalizer of_loss_{{}, caffe::LossParameter::BATCH_SIZE}, of_gradient_{{}, caffe::LossParameter::NONE};
};

/// The paths of a batch. States 0, 2, ... of a sequence are blanks, those between its labels.
template <typename Math, typename X, typename L>
struct CtcPaths {
  using T = typename Math::T;

  CtcExtents e;
  const X* scores;
  const L* labels;
  const T* log_sums;      ///< of each row, step by step: log of the sum of e^score
  int32_t* states;        ///< of each sample: its labels without blanks
  int64_t* lengths;       ///< how many these are; -1: the sequence has no path, or a label that cannot be
  T *forward, *backward;  ///< [sample, step, state]
  T* losses;              ///< of each sample

  static constexpr int64_t kNoPath = -1;
  /// The logarithm of 0.
  static constexpr T kNever = T{-1e30};

  /// log(e^a + e^b). A NaN stays one.
  ROBUSTA_HOST_DEVICE static T log_sum(T a, T b) {
    if (a <= kNever) return b;
    if (b <= kNever) return a;
    const T larger = a > b ? a : b, smaller = a > b ? b : a;
    return larger + Math::log1p(Math::exp(smaller - larger));
  }

  ROBUSTA_HOST_DEVICE int64_t class_of(int64_t sample, int64_t state) const {
    return state % 2 == 0 ? e.blank : states[sample * e.width + state / 2];
  }
  ROBUSTA_HOST_DEVICE T log_probability(int64_t step, int64_t sample, int64_t c) const {
    return static_cast<T>(scores[e.score_at(step, sample, c)]) - log_sums[step * e.samples + sample];
  }
  /// Whether a path may go from the state before last to this one: over a blank between different labels.
  ROBUSTA_HOST_DEVICE bool skips(int64_t sample, int64_t state) const {
    return state % 2 == 1 && state > 1 && class_of(sample, state) != class_of(sample, state - 2);
  }
  ROBUSTA_HOST_DEVICE int64_t at(int64_t step, int64_t sample, int64_t state) const {
    return (sample * e.counted + step) * e.most_states() + state;
  }

  /// Fills in what belongs to a sample. `gradient`: backward, too.
  ROBUSTA_HOST_DEVICE void run(int64_t sample, bool gradient) const {
    losses[sample] = 0;
    lengths[sample] = read_labels(sample);
    if (lengths[sample] == kNoPath) return;
    go_forward(sample);
    const int64_t last = 2 * lengths[sample];
    const int64_t end = at(e.counted - 1, sample, last);
    losses[sample] = -(last == 0 ? forward[end] : log_sum(forward[end], forward[end - 1]));
    if (gradient) go_backward(sample);
  }

  /// The labels but blanks. A path needs a step for each, and one for a blank between equal ones.
  ROBUSTA_HOST_DEVICE int64_t read_labels(int64_t sample) const {
    int64_t count = 0, steps = 0;
    for (int64_t i = sample * e.width; i < (sample + 1) * e.width; ++i) {
      const int label = to_label(labels[i]);
      if (label < 0 || label >= e.classes) return kNoPath;
      if (label == e.blank) continue;
      int32_t* const own = states + sample * e.width;
      steps += 1 + (count > 0 && own[count - 1] == label);
      own[count++] = label;
    }
    return steps <= e.counted ? count : kNoPath;
  }

  /// forward: log of the probability of all ways to be in a state after a step. A path stays in a state, or comes from
  /// the one before, or skips a blank (section 4.1, the variables alpha).
  ROBUSTA_HOST_DEVICE void go_forward(int64_t sample) const {
    const int64_t count = 2 * lengths[sample] + 1;
    for (int64_t step = 0; step < e.counted; ++step) {
      for (int64_t s = 0; s < count; ++s) {
        T ways = step == 0 && s < 2 ? T{0} : kNever;
        if (step > 0) {
          const T* const before = forward + at(step - 1, sample, 0);
          ways = before[s];
          if (s > 0) ways = log_sum(ways, before[s - 1]);
          if (skips(sample, s)) ways = log_sum(ways, before[s - 2]);
        }
        forward[at(step, sample, s)] = ways <= kNever ? kNever : ways + own_log(step, sample, s);
      }
    }
  }

  /// backward: log of the probability of all ways from a state to the end. Unlike the paper's beta it leaves out the
  /// state's own probability at this step: forward has it already.
  ROBUSTA_HOST_DEVICE void go_backward(int64_t sample) const {
    const int64_t count = 2 * lengths[sample] + 1;
    for (int64_t step = e.counted - 1; step >= 0; --step) {
      for (int64_t s = 0; s < count; ++s) {
        T ways = step == e.counted - 1 && s >= count - 2 ? T{0} : kNever;
        if (step < e.counted - 1) {
          ways = way_on(step, sample, s);
          if (s + 1 < count) ways = log_sum(ways, way_on(step, sample, s + 1));
          if (s + 2 < count && skips(sample, s + 2)) ways = log_sum(ways, way_on(step, sample, s + 2));
        }
        backward[at(step, sample, s)] = ways;
      }
    }
  }

  /// The log of the share of the paths that are in a state after a step. forward x backward are the paths through the
  /// state, and the loss is the negative logarithm of all paths: it divides.
  ROBUSTA_HOST_DEVICE T log_share(int64_t step, int64_t sample, int64_t state) const {
    const int64_t i = at(step, sample, state);
    if (forward[i] <= kNever || backward[i] <= kNever) return kNever;
    return forward[i] + backward[i] + losses[sample];
  }

  /// The gradient of - log p by a score: what the net says of its class, without what the paths say. (Section 4.2; the
  /// derivative is by the scores, through the softmax.) A label may come several times in a sequence: all of its states
  /// count.
  ROBUSTA_HOST_DEVICE T gradient(int64_t step, int64_t sample, int64_t c) const {
    if (step >= e.counted || lengths[sample] == kNoPath) return 0;
    T slope = Math::exp(log_probability(step, sample, c));
    const bool is_blank = c == e.blank;
    for (int64_t s = is_blank ? 0 : 1; s < 2 * lengths[sample] + 1; s += 2) {
      if (!is_blank && class_of(sample, s) != c) continue;
      const T share = log_share(step, sample, s);
      if (!(share <= kNever)) slope -= Math::exp(share);
    }
    return slope;
  }

 private:
  ROBUSTA_HOST_DEVICE T own_log(int64_t step, int64_t sample, int64_t state) const {
    return log_probability(step, sample, class_of(sample, state));
  }
  ROBUSTA_HOST_DEVICE T way_on(int64_t step, int64_t sample, int64_t state) const {
    const T ways = backward[at(step + 1, sample, state)];
    return ways <= kNever ? kNever : ways + own_log(step + 1, sample, state);
  }
};

/// What lies in KernelRun::saved, one behind the other, and what backward reads of it.
template <typename T>
struct CtcMemory {
  explicit CtcMemory(const CtcExtents& e, void* memory = nullptr) {
    const int64_t cells = e.rows() * e.most_states();
    // The widest first, so that all are aligned.
    lengths = reinterpret_cast<int64_t*>(take(memory, e.samples * static_cast<int64_t>(sizeof(int64_t))));
    forward = reinterpret_cast<T*>(take(memory, cells * static_cast<int64_t>(sizeof(T))));
    backward = reinterpret_cast<T*>(take(memory, cells * static_cast<int64_t>(sizeof(T))));
    log_sums = reinterpret_cast<T*>(take(memory, e.rows() * static_cast<int64_t>(sizeof(T))));
    losses = reinterpret_cast<T*>(take(memory, e.samples * static_cast<int64_t>(sizeof(T))));
    states = reinterpret_cast<int32_t*>(take(memory, e.samples * e.width * static_cast<int64_t>(sizeof(int32_t))));
  }

  template <typename Math, typename X, typename L>
  CtcPaths<Math, X, L> paths(const CtcExtents& e, const X* scores, const L* labels) const {
    return {e, scores, labels, log_sums, states, lengths, forward, backward, losses};
  }

  int64_t bytes = 0;  ///< of all arrays
  int64_t* lengths;
  T *forward, *backward, *log_sums, *losses;
  int32_t* states;

 private:
  char* take(void* memory, int64_t size) {
    char* const here = memory ? static_cast<char*>(memory) + bytes : nullptr;
    bytes += size;
    return here;
  }
};

}  // namespace robusta
