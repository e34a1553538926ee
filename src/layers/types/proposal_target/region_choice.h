/// Which regions a detector is trained on, and which box of the truth each is compared with (Girshick 2015, "Fast
/// R-CNN", section 2.3; zhaoweicai/mscnn, src/caffe/layers/proposal_target_layer.cpp). Made on the host, in single
/// precision.
///
/// The boxes of the truth are regions, too, behind those that were proposed. A region belongs to the box of its item
/// that it overlaps most. Where that is fg_thr or more it is an object, or nothing where the box is ignored; from
/// bg_thr_lw up to bg_thr_hg it is background, else spare. Of batch_size regions at most fg_fraction are objects, the
/// others background; of too many some are drawn; where the background is too little, spare regions follow in their
/// order, and then boxes that are drawn of the images, none of which overlaps a box by fg_thr. With batch_size -1 all
/// objects and all of the background are taken.
///
/// What is drawn depends on the seed, the layer's name and the position of the batch's first sample alone. One choice
/// is made of the whole batch of a rank, so that other numbers of ranks choose otherwise.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/philox.h"
#include "layers/kit/kernel.h"
#include "ops/boxes.h"

namespace robusta {

/// One row of the tops.
struct TargetRow {
  int64_t region = -1;  ///< a row of bottom 0, or, counted on, of bottom 1; -1: `box`, in the image of `item`
  int64_t truth = -1;   ///< the row of bottom 1 that an object belongs to
  int32_t label = 0;    ///< 0: background
  int32_t item = 0;
  Box<float> box{1, 1, 10, 10};
  float overlap = 0;  ///< of an object, with its box of the truth
  float weight = 1;
};

class RegionChoice {
 public:
  static constexpr int64_t kRegionWidth = 5, kTruthWidth = 7;

  /// Throws Error{kConfig}.
  RegionChoice(const caffe::ProposalTargetParameter& param, std::string layer);

  /// Rows for the regions [n, 5], an item and two corners, and the truth [m, 7]: the same, class, ignored or not. As
  /// many as batch_size, or, with -1, at least one; they stay until the next call. `pass` is null where nothing is
  /// drawn, with batch_size -1. Throws Error{kData} for an item, a class or a box of the truth that cannot be.
  const std::vector<TargetRow>& choose(std::span<const float> regions, std::span<const float> truth, const Pass* pass);

 private:
  struct Truth {
    int32_t item, label;
    bool ignored;
    Box<float> box;
  };

  void read(std::span<const float> regions, std::span<const float> truth);
  int32_t item_of(float number, const char* whose, int64_t row) const;
  void match();
  void add_objects(PhiloxStream* draws);
  void add_background(PhiloxStream* draws);
  void add_drawn_boxes(PhiloxStream& draws, int64_t items);
  float most_common(int32_t item, const Box<float>& box) const;
  void weigh();

  caffe::ProposalTargetParameter param_;
  std::string layer_;
  int64_t batch_;
  std::vector<Truth> truth_;
  std::vector<TargetRow> candidates_, objects_, background_, spare_, rows_;
};

}  // namespace robusta
