// From weiliu89/caffe, branch ssd: sampler.cpp. There a box that meets one limit and misses the next makes all later
// ones count as right; here each box has to meet all of them.

#include "data/transform/patch_sampler.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "data/transform/draws.h"
#include "data/transform/setting_checks.h"

namespace robusta {
namespace {

constexpr uint32_t kMostTrials = 100000;

void check(const caffe::BatchSampler& setting, const std::string& path) {
  const caffe::Sampler& sampler = setting.sampler();
  const std::string in = path + "sampler.";
  constexpr float kLeast = 1e-4f;
  require_range(sampler.min_scale(), sampler.max_scale(), kLeast, in + "min_scale", in + "max_scale");
  if (sampler.max_scale() > 1) refuse_setting(in + "max_scale", str("it is ", sampler.max_scale()), "give at most 1");
  require_range(sampler.min_aspect_ratio(), sampler.max_aspect_ratio(), kLeast, in + "min_aspect_ratio",
                in + "max_aspect_ratio");
  if (setting.max_trials() > kMostTrials)
    refuse_setting(path + "max_trials", str(setting.max_trials(), " trials for each image"),
                   str("give at most ", kMostTrials));
}

/// The proportions are limited so that the patch fits into the image.
Box<float> draw_patch(const caffe::Sampler& sampler, PhiloxStream& draws) {
  const float scale = between(draws, sampler.min_scale(), sampler.max_scale());
  const float drawn = between(draws, sampler.min_aspect_ratio(), sampler.max_aspect_ratio());
  const float proportion = std::min(std::max(drawn, scale * scale), 1 / (scale * scale));
  const float width = std::min(1.0f, scale * std::sqrt(proportion)),
              height = std::min(1.0f, scale / std::sqrt(proportion));
  const float left = between(draws, 0, 1 - width), top = between(draws, 0, 1 - height);
  return {left, top, left + width, top + height};
}

/// The whole image by nothing.
std::optional<Box<float>> jittered(float jitter, bool keeps_proportions, PhiloxStream& draws) {
  const double kind = draws.uniform();
  if (kind < 0.2) return std::nullopt;
  const float most = kind < 0.4 ? jitter / 2 : jitter;
  const float width = between(draws, 1 - most, 1);
  const float height = keeps_proportions ? width : between(draws, 1 - most, 1);
  const float left = between(draws, 0, 1 - width), top = between(draws, 0, 1 - height);
  return Box<float>{left, top, left + width, top + height};
}

/// Whether a value lies within the limits that are set.
bool within(float value, bool has_least, float least, bool has_most, float most) {
  return !(has_least && value < least) && !(has_most && value > most);
}

bool meets(const Box<float>& patch, const Box<float>& box, const caffe::SampleConstraint& limits) {
  return within(overlap(patch, box), limits.has_min_jaccard_overlap(), limits.min_jaccard_overlap(),
                limits.has_max_jaccard_overlap(), limits.max_jaccard_overlap()) &&
         within(coverage(patch, box), limits.has_min_sample_coverage(), limits.min_sample_coverage(),
                limits.has_max_sample_coverage(), limits.max_sample_coverage()) &&
         within(coverage(box, patch), limits.has_min_object_coverage(), limits.min_object_coverage(),
                limits.has_max_object_coverage(), limits.max_object_coverage());
}

}  // namespace

bool satisfies(const Box<float>& patch, std::span<const AnnotatedBox> boxes, const caffe::SampleConstraint& limits) {
  const bool has_limits = limits.has_min_jaccard_overlap() || limits.has_max_jaccard_overlap() ||
                          limits.has_min_sample_coverage() || limits.has_max_sample_coverage() ||
                          limits.has_min_object_coverage() || limits.has_max_object_coverage();
  return !has_limits ||
         std::ranges::any_of(boxes, [&](const AnnotatedBox& annotated) { return meets(patch, annotated.box, limits); });
}

PatchSampler::PatchSampler(const caffe::AnnotatedDataParameter& param, bool keeps_proportions)
    : samplers_(param.batch_sampler().begin(), param.batch_sampler().end()), keeps_proportions_(keeps_proportions) {
  // There all images are jittered by the default, here those of layers that say so, or have rows for YOLO.
  if (param.has_yolo_data_jitter() || param.yolo_data_type() == 1) jitter_ = param.yolo_data_jitter();
  if (!(jitter_ >= 0 && jitter_ < 1)) {
    refuse_setting("annotated_data_param.yolo_data_jitter", str("it is ", jitter_), "give 0 or more, and less than 1");
  }
  for (size_t i = 0; i < samplers_.size(); ++i)
    check(samplers_[i], str("annotated_data_param.batch_sampler[", i, "]."));
}

std::optional<Box<float>> PatchSampler::draw(std::span<const AnnotatedBox> boxes, PhiloxStream draws) const {
  if (is_nothing()) return std::nullopt;
  if (samplers_.empty()) return jittered(jitter_, keeps_proportions_, draws);
  std::vector<Box<float>> found;
  for (const caffe::BatchSampler& setting : samplers_) {
    if (!setting.use_original_image()) continue;
    const size_t before = found.size();
    for (uint32_t trial = 0; trial < setting.max_trials(); ++trial) {
      if (setting.has_max_sample() && found.size() - before >= setting.max_sample()) break;
      const Box<float> patch = draw_patch(setting.sampler(), draws);
      if (satisfies(patch, boxes, setting.sample_constraint())) found.push_back(patch);
    }
  }
  if (found.empty()) return std::nullopt;
  return found[draws.below(found.size())];
}

}  // namespace robusta
