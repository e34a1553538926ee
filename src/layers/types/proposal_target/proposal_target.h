/// ProposalTarget: regions that a detector is trained on, their classes, and the codes of their boxes (Girshick 2015,
/// "Fast R-CNN", section 2.3). Shared by its kernels.
///
/// As in zhaoweicai/mscnn (src/caffe/layers/proposal_target_layer.cpp). Bottoms: proposed regions [n, 5], an item and
/// two corners in pixels that belong to the box; the truth [m, 7]: the same, class, ignored or not. Tops, of which the
/// last two may be left out: regions [rows, 5, 1, 1]; labels [rows, 1, 1, 1], 0 being the background; the codes of the
/// boxes that objects belong to, and two weights of them, 1 where there is a code [rows, 4 * cls_num, 1, 1 each]; these
/// boxes [rows, 6, 1, 1]: class, corners, overlap, zeros of the background; a weight of each row [rows, 1, 1, 1]. With
/// bbox_reg_param.cls_aware false all classes have one code, behind that of the background, which stays 0. Which rows
/// there are: region_choice.h; with batch_size -1 before the layer runs (kit/sized_by_bottoms.h).
#pragma once

#include "layers/kit/box_statistics.h"
#include "layers/kit/kernel.h"
#include "layers/kit/sized_by_bottoms.h"
#include "layers/types/proposal_target/region_choice.h"

namespace robusta {

/// Writes the rows of all tops; those that are not there are null.
template <typename T>
struct TargetWriter {
  const T *regions, *truth;
  int64_t region_rows, code_width;
  bool by_class;
  BoxStatistics statistics;
  T *rows, *labels, *codes, *inside, *outside, *matches, *weights;

  ROBUSTA_HOST_DEVICE void write(const TargetRow& chosen, int64_t row) const {
    T region[RegionChoice::kRegionWidth];
    read(chosen, region);
    for (int64_t k = 0; k < RegionChoice::kRegionWidth; ++k) rows[row * RegionChoice::kRegionWidth + k] = region[k];
    labels[row] = static_cast<T>(chosen.label);
    if (weights) weights[row] = static_cast<T>(chosen.weight);
    write_match(chosen, row);
    const int64_t own = chosen.label == 0 ? -1 : by_class ? 4 * chosen.label : 4;
    for (int64_t i = 0; i < code_width; ++i) {
      const int64_t at = row * code_width + i;
      const bool is_own = own >= 0 && i >= own && i < own + 4;
      codes[at] =
          is_own ? code(region + 1, truth + chosen.truth * RegionChoice::kTruthWidth + 1, static_cast<int>(i - own))
                 : T{0};
      inside[at] = outside[at] = static_cast<T>(is_own);
    }
  }

 private:
  ROBUSTA_HOST_DEVICE void read(const TargetRow& chosen, T* region) const {
    if (chosen.region < 0) {
      region[0] = static_cast<T>(chosen.item);
      region[1] = static_cast<T>(chosen.box.xmin), region[2] = static_cast<T>(chosen.box.ymin);
      region[3] = static_cast<T>(chosen.box.xmax), region[4] = static_cast<T>(chosen.box.ymax);
      return;
    }
    const bool proposed = chosen.region < region_rows;
    const T* from = proposed ? regions + chosen.region * RegionChoice::kRegionWidth
                             : truth + (chosen.region - region_rows) * RegionChoice::kTruthWidth;
    for (int64_t k = 0; k < RegionChoice::kRegionWidth; ++k) region[k] = from[k];
  }

  ROBUSTA_HOST_DEVICE void write_match(const TargetRow& chosen, int64_t row) const {
    if (!matches) return;
    T* match = matches + row * 6;
    const bool object = chosen.label > 0;
    match[0] = static_cast<T>(chosen.label);
    for (int64_t k = 0; k < 4; ++k)
      match[1 + k] = object ? truth[chosen.truth * RegionChoice::kTruthWidth + 1 + k] : T{0};
    match[5] = object ? static_cast<T>(chosen.overlap) : T{0};
  }

  /// Number `k` of the code of a box around a region.
  ROBUSTA_HOST_DEVICE T code(const T* region, const T* box, int k) const {
    const int axis = k % 2;
    const T size = region[axis + 2] - region[axis] + 1, wanted = box[axis + 2] - box[axis] + 1;
    const T shift = (box[axis] + wanted / 2 - region[axis] - size / 2) / size;
    return statistics.apply(k, k < 2 ? shift : std::log(wanted / size));
  }
};

class ProposalTargetLayer : public Layer, public SizedByBottoms {
 public:
  explicit ProposalTargetLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {2, 2, 5, 7}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  bool allows_gradient(int) const override { return false; }
  bool has_backward() const override { return false; }

  int sizing_bottom() const override { return takes_all() ? 1 : -1; }
  std::vector<int> sizing_bottoms() const override { return {0, 1}; }
  void size_by_bottoms(std::span<const std::vector<float>> values) override;

  const caffe::ProposalTargetParameter& fields() const { return param().proposal_target_param(); }
  /// Whether rows are chosen before the layer runs, and those.
  bool takes_all() const { return fields().batch_size() < 0; }
  const std::vector<TargetRow>& chosen() const { return chosen_; }
  /// For the tensors of a run.
  template <typename T>
  TargetWriter<T> writer(const KernelRun& run) const;

 private:
  RegionChoice choice_;
  BoxStatistics statistics_;
  bool by_class_;
  int64_t regions_ = -1, truths_ = -1;  // rows of the bottoms
  bool told_ = false;
  std::vector<TargetRow> chosen_;
};

template <typename T>
TargetWriter<T> ProposalTargetLayer::writer(const KernelRun& run) const {
  const auto top = [&](size_t i) { return i < run.tops.size() ? run.tops[i].as<T>() : nullptr; };
  return {.regions = run.bottoms[0].as<T>(),
          .truth = run.bottoms[1].as<T>(),
          .region_rows = regions_,
          .code_width = run.tops[2].shape()[1],
          .by_class = by_class_,
          .statistics = statistics_,
          .rows = top(0),
          .labels = top(1),
          .codes = top(2),
          .inside = top(3),
          .outside = top(4),
          .matches = top(5),
          .weights = top(6)};
}

}  // namespace robusta
