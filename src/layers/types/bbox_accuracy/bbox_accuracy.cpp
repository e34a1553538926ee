// BboxAccuracy: fields, shapes, and the reference kernel.

#include "layers/types/bbox_accuracy/bbox_accuracy.h"

#include "layers/kit/booking.h"
#include "layers/kit/bottom_checks.h"

namespace robusta {

BboxAccuracyLayer::BboxAccuracyLayer(const caffe::LayerParameter& param) : Layer(param) {
  comparison_.by_class = param.bbox_reg_param().cls_aware();
  comparison_.statistics = read_box_statistics(param.bbox_reg_param());
}

std::vector<Shape> BboxAccuracyLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_elements(bottoms);
  const auto require = [&](size_t i, bool fits, const char* wanted) {
    if (fits) return;
    throw Error(ErrorKind::kConfig, str("bottom ", i, " has shape ", bottoms[i].str()), str("wanted is ", wanted))
        .in_field("bottom");
  };
  const Shape &codes = bottoms[0], &regions = bottoms[1], &matches = bottoms[2];
  const auto as_many = [&](const Shape& shape) { return shape.axes() >= 2 && shape[0] == codes[0]; };
  require(0, codes.axes() >= 2 && codes.count(1) >= 8 && codes.count(1) % 4 == 0,
          "n x 4 for each class, the background among them");
  require(1, as_many(regions) && regions.count(1) == 5, "n x 5: an item and four corners");
  require(2, as_many(matches) && matches.count(1) == 6, "n x 6: a class, four corners and an overlap");
  comparison_.regions = codes[0];
  comparison_.codes = codes.count(1);
  comparison_.region_width = regions.count(1);
  comparison_.match_width = matches.count(1);
  return std::vector<Shape>(param().top_size() > 1 ? 2 : 1, Shape{1, 1, 1, 1});
}

void throw_class_without_code(const RegionComparison& comparison, int64_t region, double label) {
  throw Error(ErrorKind::kData,
              str("region ", region, " is of class ", label, ", and there are codes of ", comparison.codes / 4,
                  " classes, the background among them"),
              "raise num_output of the layer that makes the codes, or set bbox_reg_param { cls_aware: false }");
}

namespace {

template <typename T>
class BboxAccuracyReference : public Kernel {
 public:
  explicit BboxAccuracyReference(const KernelRequest& request)
      : comparison_(request.layer<BboxAccuracyLayer>().comparison()) {
    book_reads_nothing(3, booking_);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const T *codes = run.bottoms[0].as<T>(), *regions = run.bottoms[1].as<T>(), *matches = run.bottoms[2].as<T>();
    RegionOverlaps sum;
    for (int64_t region = 0; region < comparison_.regions; ++region) {
      if (!comparison_.has_code(matches, region)) {
        throw_class_without_code(comparison_, region, static_cast<double>(matches[region * comparison_.match_width]));
      }
      sum = RegionOverlaps::join(sum, comparison_.overlaps(codes, regions, matches, region));
    }
    run.tops[0].as<T>()[0] = sum.mean<T>(sum.moved);
    if (run.tops.size() > 1) run.tops[1].as<T>()[0] = sum.mean<T>(sum.given);
  }

  void backward(const KernelRun&) override {}

 private:
  const RegionComparison comparison_;
};

}  // namespace

ROBUSTA_REGISTER_LAYER("BboxAccuracy", BboxAccuracyLayer);
ROBUSTA_REGISTER_REFERENCE("BboxAccuracy", BboxAccuracyReference);

}  // namespace robusta
