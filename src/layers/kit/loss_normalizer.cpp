// The divisors of BVLC Caffe's LossParameter.
//
// Gradients are averaged over the ranks after backward. So each rank divides by (the divisor of the whole batch) /
// (number of ranks): the mean of what the ranks have is then what one rank with the whole batch would have.

#include "layers/kit/loss_normalizer.h"

#include <algorithm>

namespace robusta {

LossNormalizer::LossNormalizer(const caffe::LossParameter& param, Mode otherwise)
    : mode_(otherwise), fixed_(param.pre_fixed_normalizer()) {
  if (param.has_normalization()) {
    mode_ = param.normalization();
  } else if (param.has_normalize()) {
    mode_ = param.normalize() ? caffe::LossParameter::VALID : caffe::LossParameter::BATCH_SIZE;
  }
  if (param.has_ignore_label()) ignored_ = param.ignore_label();
}

LossNormalizer LossNormalizer::of_findings(const caffe::LossParameter& param, Mode otherwise) {
  LossNormalizer normalizer(param, otherwise);
  normalizer.finds_ = true;
  return normalizer;
}

double LossNormalizer::divisor(int64_t valid, int64_t all, int64_t batch, StepReduce* ranks) const {
  const double count = ranks ? ranks->ranks() : 1;
  double divisor = 1;
  switch (mode_) {
    case caffe::LossParameter::FULL:
      divisor = count * static_cast<double>(all);
      break;
    case caffe::LossParameter::VALID:
      divisor = static_cast<double>(valid);
      // Without a label to ignore the counts are equal, and nobody has to ask.
      if (ranks && counts_labels()) {
        ranks->sum({&divisor, 1});
      } else {
        divisor *= count;
      }
      break;
    case caffe::LossParameter::BATCH_SIZE:
      divisor = count * static_cast<double>(batch);
      break;
    case caffe::LossParameter::PRE_FIXED:
      divisor = fixed_;
      break;
    case caffe::LossParameter::NONE:
      break;
  }
  return std::max(divisor, 1.0) / count;
}

}  // namespace robusta
