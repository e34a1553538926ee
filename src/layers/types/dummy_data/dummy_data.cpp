// DummyData: tops filled by fillers. Constant and static ones once, others anew for every pass.

#include <algorithm>
#include <cstring>

#include "base/philox.h"
#include "base/str.h"
#include "layers/kit/filler.h"
#include "layers/kit/source_layer.h"

namespace robusta {
namespace {

Error config_error(const std::string& cause, const std::string& fix, const std::string& field) {
  return Error(ErrorKind::kConfig, cause, fix).in_field("dummy_data_param." + field);
}

/// Whether every fill gives the same numbers.
bool repeats(const caffe::FillerParameter& filler) {
  return filler.type() == "constant" || filler.type().ends_with("static");
}

class DummyDataLayer : public SourceLayer {
 public:
  explicit DummyDataLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {0, 0, 1, -1}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>&) override;
  double forward_flops(const std::vector<Shape>&, const std::vector<Shape>&) const override { return 0; }
  void fill(std::span<const Tensor> tops, const Pass& pass) override;
  bool constant() const override;
  void set_batch(int64_t batch) override {
    for (Shape& shape : shapes_) {
      if (shape.axes() > 0) shape[0] = batch;
    }
  }

 private:
  void read_shapes();
  void read_legacy_shapes();
  void check_count(int given, const std::string& field) const;
  const caffe::FillerParameter* filler(int top) const;

  std::vector<Shape> shapes_;
};

DummyDataLayer::DummyDataLayer(const caffe::LayerParameter& param) : SourceLayer(param) {
  const auto& given = param.dummy_data_param();
  if (given.data_filler_size() != 0) check_count(given.data_filler_size(), "data_filler");
  const bool legacy = given.num_size() + given.channels_size() + given.height_size() + given.width_size() > 0;
  if (legacy && given.shape_size() > 0) {
    throw config_error("shape and num, channels, height, width are both given", "keep shape", "shape");
  }
  legacy ? read_legacy_shapes() : read_shapes();
}

void DummyDataLayer::check_count(int given, const std::string& field) const {
  if (given == 1 || given == param().top_size()) return;
  throw config_error(str(param().top_size(), " tops need one ", field, ", or one each, not ", given), "", field);
}

void DummyDataLayer::read_shapes() {
  const auto& given = param().dummy_data_param().shape();
  check_count(given.size(), "shape");
  for (int top = 0; top < param().top_size(); ++top) {
    const auto& dims = given[given.size() == 1 ? 0 : top].dim();
    shapes_.emplace_back(std::vector<int64_t>(dims.begin(), dims.end()));
  }
}

void DummyDataLayer::read_legacy_shapes() {
  const auto& given = param().dummy_data_param();
  check_count(given.num_size(), "num");
  check_count(given.channels_size(), "channels");
  check_count(given.height_size(), "height");
  check_count(given.width_size(), "width");
  const auto at = [](const auto& list, int top) { return static_cast<int64_t>(list[list.size() == 1 ? 0 : top]); };
  for (int top = 0; top < param().top_size(); ++top) {
    shapes_.push_back(
        {at(given.num(), top), at(given.channels(), top), at(given.height(), top), at(given.width(), top)});
  }
}

std::vector<Shape> DummyDataLayer::infer_tops(const std::vector<Shape>&) {
  for (size_t top = 0; top < shapes_.size(); ++top) {
    check_extents(shapes_[top]);
    if (shapes_[top].count() == 0) throw config_error("shape " + shapes_[top].str() + " holds nothing", "", "shape");
    const caffe::FillerParameter* how = filler(static_cast<int>(top));
    if (how) check_filler(*how, shapes_[top], "dummy_data_param.data_filler");
  }
  return shapes_;
}

const caffe::FillerParameter* DummyDataLayer::filler(int top) const {
  const auto& given = param().dummy_data_param().data_filler();
  return given.empty() ? nullptr : &given[given.size() == 1 ? 0 : top];
}

bool DummyDataLayer::constant() const {
  const auto& given = param().dummy_data_param().data_filler();
  return std::all_of(given.begin(), given.end(), repeats);
}

void DummyDataLayer::fill(std::span<const Tensor> tops, const Pass& pass) {
  for (size_t top = 0; top < tops.size(); ++top) {
    const TensorDesc& desc = tops[top].desc;
    const caffe::FillerParameter* how = filler(static_cast<int>(top));
    if (!how) {
      std::memset(tops[top].data, 0, desc.bytes());
      continue;
    }
    PhiloxStream random(random_key(pass.seed, name(), str("top ", top)), repeats(*how) ? 0 : pass.first_sample);
    ::robusta::fill(*how, desc.shape, random, desc.dtype, tops[top].data);
  }
}

}  // namespace

ROBUSTA_REGISTER_LAYER("DummyData", DummyDataLayer);

}  // namespace robusta
