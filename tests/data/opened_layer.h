/// Sources on their own, opened and asked for batches as a net does it.
#pragma once

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "layers/kit/source_layer.h"

namespace robusta::test {

/// A layer "d" with tops "x" and "l" that reads images of `source`; `field` is "image_data_param" for ImageData.
inline caffe::LayerParameter layer_of_images(const std::string& type, const std::string& field,
                                             const std::string& source, const std::string& settings,
                                             const std::string& transform, caffe::Phase phase) {
  caffe::LayerParameter param;
  const std::string text = "name: 'd' type: '" + type + "' top: 'x' top: 'l' " + field + " { source: '" + source +
                           "' " + settings + " } transform_param { " + transform + " }";
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &param)) << text;
  param.set_phase(phase);
  return param;
}

struct Tops {
  std::vector<Shape> shapes;
  std::vector<std::vector<float>> values;
};

/// A source that has opened its source, as a net does when it is built.
class OpenedLayer {
 public:
  explicit OpenedLayer(const caffe::LayerParameter& param, const SourceOptions& options = {})
      : layer_(make_layer(param)), source_(dynamic_cast<SourceLayer&>(*layer_)) {
    source_.open(options);
  }
  SourceLayer* operator->() const { return &source_; }

 private:
  std::unique_ptr<Layer> layer_;
  SourceLayer& source_;
};

/// Runs one pass as the net does.
inline Tops pass_over(const OpenedLayer& layer, const Pass& pass) {
  layer->prepare(pass);
  Tops tops;
  tops.shapes = layer->infer_tops({});
  std::vector<Tensor> tensors;
  tops.values.resize(tops.shapes.size());
  for (size_t i = 0; i < tops.shapes.size(); ++i) {
    tops.values[i].assign(static_cast<size_t>(tops.shapes[i].count()), -77);
    tensors.push_back({{tops.shapes[i], DType::kF32, nullptr}, tops.values[i].data()});
  }
  layer->fill(tensors, pass);
  return tops;
}

/// Batch k of a single rank.
inline Pass nth_pass(uint64_t k, int64_t batch, uint64_t seed = 1) {
  const auto size = static_cast<uint64_t>(batch);
  return {.seed = seed, .first_sample = k * size, .next_sample = (k + 1) * size, .batch = batch};
}

}  // namespace robusta::test
