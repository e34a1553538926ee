/// Proposal: the regions that a region proposal network finds worth looking at (Ren, He, Girshick, Sun 2015, "Faster
/// R-CNN: Towards real-time object detection with region proposal networks", section 3). Shared by its kernels.
///
/// As rbgirshick/py-faster-rcnn (lib/rpn/proposal_layer.py) does it in Python, under the name and with the fields of
/// happynear/caffe-windows. Bottoms: scores [N, 2 A, H, W], those of the background first; codes of boxes
/// [N, 4 A, H, W]; for each item height, width and scale of the image [N, 3]. At each pixel lie A anchors, of each
/// ratio in each scale; their decoded boxes are clipped to the image, those of less than min_size x scale pixels go,
/// and of the pre_nms_topn best those that survive non-maximum suppression come out, at most post_nms_topn of each
/// item. Tops: regions [R, 5] as ROIPooling takes them, and, if wanted, their scores [R]. R follows from the values. An
/// item of which nothing is left gives the whole image, with score 0: layers behind take no empty batch.
///
/// What is proposed is decided on the host before the layer runs (kit/sized_by_bottoms.h), in single precision; kernels
/// decode it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "layers/kit/kernel.h"
#include "layers/kit/sized_by_bottoms.h"
#include "ops/boxes.h"

namespace robusta {

/// A row of the tops: the anchor `anchor` at pixel `pixel`; -1: the whole image.
struct Proposed {
  int64_t item, pixel, anchor;
};

/// How the bottoms lie. An anchor is a box around the first pixel, by its corner pixels.
struct ProposalCoding {
  int64_t items = 0, anchors = 0, height = 0, width = 0, of_image = 3;  ///< of_image: numbers that tell of an image
  float stride = 16;  ///< pixels of the image from one pixel of the features to the next

  int64_t pixels() const { return height * width; }
  ROBUSTA_HOST_DEVICE int64_t score_at(int64_t item, int64_t pixel, int64_t anchor) const {
    return ((item * 2 + 1) * anchors + anchor) * height * width + pixel;
  }

  /// The corner pixels of a box, within the image. `codes`, `images`: as bottoms have them.
  template <typename T>
  ROBUSTA_HOST_DEVICE Box<T> box(const Proposed& p, const T* codes, const T* images,
                                 const Box<float>* anchor_boxes) const {
    const T last_row = last(images[p.item * of_image]), last_column = last(images[p.item * of_image + 1]);
    if (p.anchor < 0) return {0, 0, last_column, last_row};
    const Box<float> a = anchor_boxes[p.anchor];
    const int64_t plane = height * width;
    const T* code = codes + (p.item * anchors + p.anchor) * 4 * plane + p.pixel;
    const T w = static_cast<T>(a.width() + 1), h = static_cast<T>(a.height() + 1);
    const T x = static_cast<T>(a.xmin + static_cast<float>(p.pixel % width) * stride) + w / 2 + code[0] * w;
    const T y = static_cast<T>(a.ymin + static_cast<float>(p.pixel / width) * stride) + h / 2 + code[plane] * h;
    const T half_width = std::exp(code[2 * plane]) * w / 2, half_height = std::exp(code[3 * plane]) * h / 2;
    return {clipped(x - half_width, last_column), clipped(y - half_height, last_row),
            clipped(x + half_width, last_column), clipped(y + half_height, last_row)};
  }

  /// Row `row` of the tops; `scores_out` may be null.
  template <typename T>
  ROBUSTA_HOST_DEVICE void write(const Proposed& p, const T* scores, const T* codes, const T* images,
                                 const Box<float>* anchor_boxes, T* row, T* score) const {
    const Box<T> found = box(p, codes, images, anchor_boxes);
    row[0] = static_cast<T>(p.item);
    row[1] = found.xmin, row[2] = found.ymin, row[3] = found.xmax, row[4] = found.ymax;
    if (score) *score = p.anchor < 0 ? T{0} : scores[score_at(p.item, p.pixel, p.anchor)];
  }

 private:
  template <typename T>
  ROBUSTA_HOST_DEVICE static T last(T extent) {
    return extent > 1 ? extent - 1 : T{0};
  }
  /// A NaN stays one.
  template <typename T>
  ROBUSTA_HOST_DEVICE static T clipped(T place, T last) {
    return place < 0 ? T{0} : place > last ? last : place;
  }
};

class ProposalLayer : public Layer, public SizedByBottoms {
 public:
  explicit ProposalLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {3, 3, 1, 2}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  bool allows_gradient(int) const override { return false; }

  int sizing_bottom() const override { return 2; }
  std::vector<int> sizing_bottoms() const override { return {0, 1, 2}; }
  void size_by_bottoms(std::span<const std::vector<float>> values) override;

  const std::vector<Box<float>>& anchors() const { return anchors_; }
  /// After infer_tops.
  const ProposalCoding& coding() const { return coding_; }
  /// What the last size_by_bottoms has found. Before: the whole image of each item.
  const std::vector<Proposed>& found() const { return found_; }

 private:
  void check_images(const std::vector<float>& images);
  std::vector<Proposed> find_in_item(std::span<const std::vector<float>> values, int64_t item) const;

  std::vector<Box<float>> anchors_;
  ProposalCoding coding_;
  std::vector<Proposed> found_;
  bool warned_ = false;  // of images without a size
};

}  // namespace robusta
