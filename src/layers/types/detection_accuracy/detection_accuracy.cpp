// DetectionAccuracy: fields, shapes, and the reference kernel.

#include "layers/types/detection_accuracy/detection_accuracy.h"

#include "layers/kit/booking.h"
#include "layers/kit/field_checks.h"

namespace robusta {

DetectionAccuracyLayer::DetectionAccuracyLayer(const caffe::LayerParameter& param)
    : DetectionMapsLayer(param, param.detection_accuracy_param(), "detection_accuracy_param") {
  const caffe::DetectionAccuracyParameter& p = param.detection_accuracy_param();
  if (p.top_k() >= 1 && p.top_k() <= p.cls_num()) return;
  throw wrong_setting("detection_accuracy_param.top_k", str("top_k is ", p.top_k(), " of ", p.cls_num(), " classes"),
                      "give 1 .. cls_num");
}

std::vector<Shape> DetectionAccuracyLayer::infer_tops(const std::vector<Shape>& bottoms) {
  take_bottoms(bottoms);
  std::vector<Shape> tops{{1, 1, 1, 2}, {1, 1, 1, 1}};
  tops.resize(param().top_size() > 1 ? 2 : 1);
  return tops;
}

namespace {

template <typename T>
class DetectionAccuracyReference : public Kernel {
 public:
  explicit DetectionAccuracyReference(const KernelRequest& request)
      : comparison_(request.layer<DetectionAccuracyLayer>().comparison()) {
    book_reads_nothing(2, booking_);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const T *x = run.bottoms[0].as<T>(), *truth = run.bottoms[1].as<T>();
    const DetectionMaps& m = comparison_.m;
    DetectionHits sum;
    for (int64_t place = 0; place < m.places(); ++place) {
      const int64_t at = m.fault(truth, place);
      if (at >= 0) throw_bad_truth(m, at, static_cast<double>(truth[at]), *run.pass);
      sum = DetectionHits::join(sum, comparison_.hits(x, truth, place));
    }
    sum.write(run.tops[0].as<T>(), run.tops.size() > 1 ? run.tops[1].as<T>() : nullptr);
  }

  void backward(const KernelRun&) override {}

 private:
  const DetectionComparison comparison_;
};

}  // namespace

ROBUSTA_REGISTER_LAYER("DetectionAccuracy", DetectionAccuracyLayer);
ROBUSTA_REGISTER_REFERENCE("DetectionAccuracy", DetectionAccuracyReference);

}  // namespace robusta
