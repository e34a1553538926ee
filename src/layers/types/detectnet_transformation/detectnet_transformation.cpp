// DetectNetTransformation: fields, shapes, means, and the reference kernel.

#include "layers/types/detectnet_transformation/detectnet_transformation.h"

#include <algorithm>

#include "base/log.h"
#include "base/parallel.h"
#include "base/philox.h"
#include "base/str.h"
#include "data/transform/setting_checks.h"
#include "layers/kit/booking.h"
#include "layers/kit/bottom_checks.h"
#include "layers/kit/field_checks.h"
#include "schema/mean_file.h"
#include "schema/reflect.h"

namespace robusta {
namespace {

constexpr char kAugmentationPath[] = "detectnet_augmentation_param.", kTruthPath[] = "detectnet_groundtruth_param.";

float probability(float value, const std::string& field) {
  require_probability(value, kAugmentationPath + field);
  return value;
}

int64_t checked_shift(uint32_t value, const std::string& field) {
  require_range(0, static_cast<float>(value), 0, kAugmentationPath + field, kAugmentationPath + field);
  return value;
}

/// Of transform_param the means alone count, as in NVIDIA's Caffe.
void warn_of_other_transforms(const caffe::LayerParameter& layer) {
  caffe::TransformationParameter others = layer.transform_param();
  others.clear_mean_file();
  others.clear_mean_value();
  std::vector<const FieldDescriptor*> given;
  others.GetReflection()->ListFields(others, &given);
  for (const FieldDescriptor* field : given) {
    if (says_default(others, field)) continue;
    LOG_WARNING << "layer " << layer.name() << ": transform_param." << field->name()
                << " changes nothing here: detectnet_augmentation_param says what is done to images";
  }
}

}  // namespace

DetectNetTransformationLayer::DetectNetTransformationLayer(const caffe::LayerParameter& param) : Layer(param) {
  read_augmentation();
  read_coverage();
  read_means();
  warn_of_other_transforms(param);
}

void DetectNetTransformationLayer::read_augmentation() {
  const caffe::DetectNetAugmentationParameter& p = param().detectnet_augmentation_param();
  const auto field = [](const std::string& name) { return kAugmentationPath + name; };
  Augmentation& a = augmentation_;
  a.draws = training();
  a.hue_probability = probability(p.hue_rotation_prob(), "hue_rotation_prob");
  a.hue = std::clamp(require_finite(p.hue_rotation(), field("hue_rotation")), -180.0f, 180.0f);
  a.desaturation_probability = probability(p.desaturation_prob(), "desaturation_prob");
  a.desaturation = probability(p.desaturation_max(), "desaturation_max");
  a.mirror_probability = probability(p.flip_prob(), "flip_prob");
  a.scale_probability = probability(p.scale_prob(), "scale_prob");
  require_range(p.scale_min(), p.scale_max(), 1e-3f, field("scale_min"), field("scale_max"));
  a.scale_least = p.scale_min();
  a.scale_most = p.scale_max();
  a.rotation_probability = probability(p.rotation_prob(), "rotation_prob");
  a.degrees = require_finite(p.max_rotate_degree(), field("max_rotate_degree"));
  a.crop_probability = probability(p.crop_prob(), "crop_prob");
  a.shift_x = checked_shift(p.shift_x(), "shift_x");
  a.shift_y = checked_shift(p.shift_y(), "shift_y");
}

void DetectNetTransformationLayer::read_coverage() {
  constexpr uint32_t kMostSource = 1 << 24, kMostPlace = 1 << 16;
  const caffe::DetectNetGroundTruthParameter& p = param().detectnet_groundtruth_param();
  const auto field = [](const std::string& name) { return kTruthPath + name; };
  if (p.coverage_type() != caffe::DetectNetGroundTruthParameter::RECTANGULAR) {
    refuse_setting(field("coverage_type"), "objects cover rectangles", "write RECTANGULAR");
  }
  require_size(p.image_size_y(), p.image_size_x(), field("image_size_x"));
  CoverageRule& rule = coverage_;
  rule.image = augmentation_.out = {p.image_size_x(), p.image_size_y()};
  if (p.stride() == 0) refuse_setting(field("stride"), "stride is 0", "give the pixels of a cell's side");
  rule.stride = p.stride();
  const double stride = p.stride();
  rule.grid = {std::lrint(static_cast<double>(rule.image.width) / stride),
               std::lrint(static_cast<double>(rule.image.height) / stride)};
  if (rule.grid.width == 0 || rule.grid.height == 0) {
    refuse_setting(
        field("stride"),
        str("a cell of ", p.stride(), " pixels is larger than images of ", rule.image.height, " x ", rule.image.width),
        "give a smaller stride");
  }
  if (!(p.scale_cvg() >= 0 && std::isfinite(p.scale_cvg()))) {
    refuse_setting(field("scale_cvg"), str("scale_cvg is ", p.scale_cvg()), "give the share of a box's sides");
  }
  rule.scale = p.scale_cvg();
  rule.at_least = p.gridbox_type() == caffe::DetectNetGroundTruthParameter::GRIDBOX_MIN;
  rule.length = static_cast<float>(rule.at_least ? p.min_cvg_len() : p.max_cvg_len());
  rule.crops_boxes = p.crop_bboxes();
  rule.weighs_objects = p.obj_norm();
  for (const auto& one : p.object_class()) {
    if (one.src() >= kMostSource || one.dst() >= kMostPlace) {
      refuse_setting(field("object_class"), str("src ", one.src(), ", dst ", one.dst()),
                     str("src has to be below ", kMostSource, ", dst below ", kMostPlace));
    }
    mapping_.insert(mapping_.end(), {static_cast<float>(one.src()), static_cast<float>(one.dst())});
    rule.classes = std::max(rule.classes, int64_t{one.dst()} + 1);
  }
  if (mapping_.empty()) mapping_ = {1, 0};  // KITTI's cars, as there
  rule.mappings = static_cast<int64_t>(mapping_.size() / 2);
}

void DetectNetTransformationLayer::read_means() {
  const caffe::TransformationParameter& p = param().transform_param();
  if (p.has_mean_file() && p.mean_value_size() > 0) {
    refuse_setting("transform_param.mean_value", "mean_file and mean_value are both set", "set one of them");
  }
  if (p.mean_value_size() == 1) mean_values_.assign(3, p.mean_value(0));
  if (p.mean_value_size() == 3) mean_values_.assign(p.mean_value().begin(), p.mean_value().end());
  if (p.mean_value_size() > 0 && mean_values_.empty()) {
    refuse_setting("transform_param.mean_value", str("there are ", p.mean_value_size(), " values of mean_value"),
                   "give one, or one for each of three channels");
  }
  if (!p.has_mean_file()) return;
  try {
    mean_file_ = read_mean_file(p.mean_file());
    if (mean_file_.shape[0] == 3 && !mean_file_.data.empty()) return;
    throw Error(ErrorKind::kConfig, str("the mean image has ", mean_file_.shape[0], " channels, images have 3"),
                "make the mean from the images with compute_image_mean, or use mean_value");
  } catch (Error& error) {
    throw error.in_field("transform_param.mean_file");
  }
}

void DetectNetTransformationLayer::scale_mean() {
  if (mean_file_.data.empty()) return;
  const ImageSize from{mean_file_.shape[2], mean_file_.shape[1]}, &to = in();
  const int64_t pixels = to.width * to.height;
  scaled_mean_.resize(static_cast<size_t>(3 * pixels));
  for (int64_t c = 0; c < 3; ++c) {
    const ScaledPlane<float> scaled{mean_file_.data.data() + c * from.width * from.height, from, to, false};
    for (int64_t i = 0; i < pixels; ++i) {
      scaled_mean_[static_cast<size_t>(c * pixels + i)] = scaled(i % to.width, i / to.width);
    }
  }
}

std::vector<Shape> DetectNetTransformationLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_elements(bottoms);
  const Shape &images = bottoms[0], &lists = bottoms[1];
  if (images.axes() != 4 || images[1] != 3) {
    throw Error(ErrorKind::kConfig, str("bottom 0 has shape ", images.str(), ", but images of 3 channels are wanted"),
                "give images in colours, as batch, channels, height, width")
        .in_field("bottom");
  }
  if (lists.axes() < 2 || lists[lists.axes() - 1] != kObjectNumbers) {
    throw Error(ErrorKind::kConfig,
                str("bottom 1 has shape ", lists.str(), ", but rows of ", kObjectNumbers, " numbers are wanted"),
                "give lists of objects as DIGITS writes them: a row that says how many, then a row for each")
        .in_field("bottom");
  }
  if (images[0] != lists[0]) {
    throw Error(ErrorKind::kConfig, str("there are ", images[0], " images and ", lists[0], " lists of objects"),
                "give both sources the same batch_size")
        .in_field("bottom");
  }
  samples_ = images[0];
  rows_ = lists.count(1) / kObjectNumbers;
  augmentation_.in = {images[3], images[2]};
  scale_mean();
  const std::vector<Shape> tops{{samples_, 3, coverage_.image.height, coverage_.image.width},
                                {samples_, coverage_.numbers(), coverage_.grid.height, coverage_.grid.width}};
  for (const Shape& top : tops) check_extents(top);
  return tops;
}

std::optional<Shape> DetectNetTransformationLayer::wanted_bottom(size_t bottom,
                                                                 const std::vector<Shape>& bottoms) const {
  const Shape& shape = bottoms[bottom];
  if (shape.axes() == 0) return std::nullopt;
  if (bottom == 0) {
    if (shape.axes() != 4 || shape[1] == 3) return std::nullopt;
    return Shape{shape[0], 3, shape[2], shape[3]};
  }
  if (shape.axes() > 1 && shape[shape.axes() - 1] == kObjectNumbers) return std::nullopt;
  return Shape{shape[0], 1, 2, kObjectNumbers};
}

Augmentation DetectNetTransformationLayer::augmentation(uint64_t seed) const {
  Augmentation augmentation = augmentation_;
  augmentation.key = random_key(seed, name(), "augmentation");
  return augmentation;
}

PixelMeans DetectNetTransformationLayer::means(const float* image) const {
  PixelMeans means;
  std::ranges::copy(mean_values_, means.values);
  if (!scaled_mean_.empty()) means.image = image;
  return means;
}

CoverageRule DetectNetTransformationLayer::coverage(const float* mapping) const {
  CoverageRule rule = coverage_;
  rule.mapping = mapping;
  return rule;
}

void DetectNetTransformationLayer::throw_bad_list(int64_t place, double value, const Pass& pass) const {
  const int64_t per_sample = rows_ * kObjectNumbers, row = place % per_sample / kObjectNumbers,
                column = place % kObjectNumbers;
  const uint64_t sample = pass.first_sample + static_cast<uint64_t>(place / per_sample);
  constexpr const char* kEdges[] = {"left edge", "upper edge", "width", "height"};
  const std::string what = row > 0       ? str("the ", kEdges[column], " of object ", row - 1, " is ", value)
                           : column == 0 ? str("it has ", value, " objects, but there is room for ", rows_ - 1)
                                         : str("a row has ", value, " numbers, but ", kObjectNumbers, " are wanted");
  throw Error(ErrorKind::kData, str("the list of objects of sample ", sample, " is no such list: ", what),
              "bottom 1 holds what DIGITS writes for object detection: correct the data, or exchange the bottoms");
}

namespace {

template <typename T>
class DetectNetTransformationReference : public Kernel {
 public:
  explicit DetectNetTransformationReference(const KernelRequest& request)
      : layer_(request.layer<DetectNetTransformationLayer>()) {
    book_reads_nothing(2, booking_);
    booking_.forward_scratch = DetectNetSteps<T>::scratch_bytes(layer_);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const DetectNetSteps<T> steps(layer_, run, run.scratch, layer_.mean_image().data(), layer_.mapping().data());
    for (int64_t sample = 0; sample < layer_.samples(); ++sample) {
      const int64_t place = steps.cover.lists.fault(sample);
      if (place >= 0) layer_.throw_bad_list(place, static_cast<double>(run.bottoms[1].as<T>()[place]), *run.pass);
      steps.draw(sample);
    }
    const int64_t pixels = layer_.samples() * steps.color.pixels, cells = layer_.samples() * steps.cover.rule.cells();
    parallel_for(pixels, 1 << 11, [&](int64_t i) { steps.color(i); });
    parallel_for(run.tops[0].count(), 1 << 9, [&](int64_t i) { steps.place(i); });
    parallel_for(cells, 1 << 6, [&](int64_t i) { steps.cover(i); });
  }

  void backward(const KernelRun&) override {}

 private:
  const DetectNetTransformationLayer& layer_;
};

}  // namespace

ROBUSTA_REGISTER_LAYER("DetectNetTransformation", DetectNetTransformationLayer);
ROBUSTA_REGISTER_REFERENCE("DetectNetTransformation", DetectNetTransformationReference);

}  // namespace robusta
