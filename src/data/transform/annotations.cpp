// From weiliu89/caffe, branch ssd: bbox_util.cpp (ProjectBBox, MeetEmitConstraint).

#include "data/transform/annotations.h"

#include <algorithm>

#include "data/transform/setting_checks.h"

namespace robusta {

BoxRule::BoxRule(const caffe::EmitConstraint& constraint) : constraint_(constraint) {
  require_probability(constraint.emit_overlap(), "transform_param.emit_constraint.emit_overlap");
}

bool BoxRule::stays(const Box<float>& box, const Box<float>& region) const {
  if (!constraint_) return true;
  if (constraint_->emit_type() == caffe::EmitConstraint::MIN_OVERLAP)
    return coverage(box, region) > constraint_->emit_overlap();
  const float x = (box.xmin + box.xmax) / 2, y = (box.ymin + box.ymax) / 2;
  return x >= region.xmin && x <= region.xmax && y >= region.ymin && y <= region.ymax;
}

float coverage(const Box<float>& box, const Box<float>& whole) {
  const float width = std::min(box.xmax, whole.xmax) - std::max(box.xmin, whole.xmin);
  const float height = std::min(box.ymax, whole.ymax) - std::max(box.ymin, whole.ymin);
  const float area = box.area();
  return width > 0 && height > 0 && area > 0 ? width * height / area : 0;
}

Box<float> region_of(const PixelRect& rect, const Extent& image) {
  const auto height = static_cast<float>(image.height), width = static_cast<float>(image.width);
  return {static_cast<float>(rect.left) / width, static_cast<float>(rect.top) / height,
          static_cast<float>(rect.left + rect.width) / width, static_cast<float>(rect.top + rect.height) / height};
}

void project(const Box<float>& region, const BoxRule& rule, std::vector<AnnotatedBox>& boxes) {
  const float width = region.width(), height = region.height();
  const auto inside = [](float x) { return std::clamp(x, 0.0f, 1.0f); };
  std::erase_if(boxes, [&](AnnotatedBox& annotated) {
    Box<float>& box = annotated.box;
    if (!rule.stays(box, region)) return true;
    box = {inside((box.xmin - region.xmin) / width), inside((box.ymin - region.ymin) / height),
           inside((box.xmax - region.xmin) / width), inside((box.ymax - region.ymin) / height)};
    return !(box.area() > 0);
  });
}

void mirror(std::vector<AnnotatedBox>& boxes) {
  for (auto& [box, label, instance, difficult] : boxes) box = {1 - box.xmax, box.ymin, 1 - box.xmin, box.ymax};
}

}  // namespace robusta
