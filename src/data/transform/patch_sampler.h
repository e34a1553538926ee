/// Patches of images, drawn by what they show (SSD's batch_sampler).
///
/// Or drawn at random, whatever they show (yolo_data_jitter of eric612/MobileNet-YOLO, sampler.cpp): of five images one
/// is left whole, one is cut by up to half the jitter, and three are by all of it, each side by itself or both alike.
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
  /// `keeps_proportions`: of the images, where the patch is jittered. Throws Error{kConfig} in a field of
  /// annotated_data_param.
  explicit PatchSampler(const caffe::AnnotatedDataParameter& param, bool keeps_proportions = false);

  bool is_nothing() const { return samplers_.empty() && jitter_ == 0; }
  /// In parts of the image; nothing: the whole image.
  std::optional<Box<float>> draw(std::span<const AnnotatedBox> boxes, PhiloxStream draws) const;

 private:
  std::vector<caffe::BatchSampler> samplers_;
  float jitter_ = 0;  ///< what a side loses at most, as a part of it
  bool keeps_proportions_;
};

/// Whether some box meets all limits of the constraint; without limits every patch is right.
bool satisfies(const Box<float>& patch, std::span<const AnnotatedBox> boxes, const caffe::SampleConstraint& constraint);

}  // namespace robusta
