/// Patches of images, drawn by what they show (SSD's batch_sampler).
///
/// Each sampler of a list draws patches - a scale and proportions within limits, a place anywhere - and keeps those in
/// which some box meets its constraints; one of all that were kept is taken. Immutable; used by many threads.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/philox.h"
#include "caffe.pb.h"
#include "data/transform/annotations.h"

namespace robusta {

class PatchSampler {
 public:
  /// Throws Error{kConfig} in a field of annotated_data_param.batch_sampler.
  explicit PatchSampler(const caffe::AnnotatedDataParameter& param);

  bool is_nothing() const { return samplers_.empty(); }
  /// In parts of the image; nothing: the whole image.
  std::optional<Box<float>> draw(std::span<const AnnotatedBox> boxes, PhiloxStream draws) const;

 private:
  std::vector<caffe::BatchSampler> samplers_;
};

/// Whether some box meets all limits of the constraint; without limits every patch is right.
bool satisfies(const Box<float>& patch, std::span<const AnnotatedBox> boxes, const caffe::SampleConstraint& constraint);

}  // namespace robusta
