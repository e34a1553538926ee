// Inputs are drawn by the names of blobs, so that both nets see the same numbers whatever the order of their layers.

#include "exchange/deploy/verify.h"

#include <algorithm>
#include <cmath>

#include "base/philox.h"
#include "base/str.h"

namespace robusta::deploy {
namespace {

bool is_region_pooling(const std::string& type) {
  return type == "ROIPooling" || type == "PSROIPooling" || type == "ROIAlign" || type == "ROIWarping";
}

/// How a number of an input is drawn.
struct Drawing {
  double from = -1, to = 1;
  bool whole = false;   ///< indices
  bool region = false;  ///< rows of sample, left, top, right, bottom
};

/// For which scale x + shift is in [0.1, 2).
Drawing argument_of(const caffe::LogParameter& log) {
  if (log.scale() == 0) return {};
  return {.from = (0.1 - log.shift()) / log.scale(), .to = (2.0 - log.shift()) / log.scale()};
}

Drawing drawing_of(const DeployNet& net, const std::string& blob, const std::vector<InputTransform>& transforms) {
  for (const InputTransform& transform : transforms) {
    if (transform.blob == blob) return {.from = 0, .to = 255, .whole = true};
  }
  for (const DeployLayer& layer : net.layers) {
    for (int b = 0; b < layer.param.bottom_size(); ++b) {
      if (layer.param.bottom(b) != blob) continue;
      const std::string& type = layer.param.type();
      if (type == "Embed")
        return {.from = 0, .to = static_cast<double>(layer.param.embed_param().input_dim()), .whole = true};
      if (type == "Log") return argument_of(layer.param.log_param());
      if (b == 1 && (type == "LSTM" || type == "RNN")) return {.from = 0, .to = 2, .whole = true};
      if (b == 1 && type == "BatchReindex") return {.from = 0, .to = 1, .whole = true};
      if (b == 1 && is_region_pooling(type)) return {.region = true};
    }
  }
  return {};
}

std::vector<float> draw(const Drawing& drawing, const std::string& blob, size_t count, uint64_t seed) {
  PhiloxStream random(random_key(seed, blob, "deploy"));
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    const double value = drawing.from + (drawing.to - drawing.from) * random.uniform();
    values[i] = static_cast<float>(drawing.whole ? std::floor(value) : value);
    // A box of the first sample that begins near its corner.
    if (drawing.region) values[i] = i % 5 == 0 ? 0 : i % 5 < 3 ? values[i] + 1 : values[i] + 6;
  }
  return values;
}

int64_t count_not_finite(const std::vector<float>& values) {
  return std::count_if(values.begin(), values.end(), [](float value) { return !std::isfinite(value); });
}

void apply(const InputTransform& transform, std::vector<float>& values, size_t pixels) {
  for (size_t i = 0; i < values.size(); ++i) {
    float mean = 0;
    if (!transform.mean_image.data.empty()) mean = transform.mean_image.data[i % transform.mean_image.data.size()];
    if (!transform.mean_values.empty()) mean = transform.mean_values[i / pixels % transform.mean_values.size()];
    values[i] = (values[i] - mean) * transform.scale;
  }
}

}  // namespace

BlobValues random_inputs(const DeployNet& net, const std::vector<InputTransform>& transforms, uint64_t seed) {
  BlobValues inputs;
  for (int i = 0; i < net.size(); ++i) {
    if (net.param(i).type() != "Input") continue;
    const std::string& blob = net.param(i).top(0);
    const auto count = static_cast<size_t>(net.shapes(i).tops[0].count());
    inputs[blob] = draw(drawing_of(net, blob, transforms), blob, count, seed);
  }
  return inputs;
}

void apply_transforms(const std::vector<InputTransform>& transforms, BlobValues* values) {
  for (const InputTransform& transform : transforms) {
    const auto found = values->find(transform.blob);
    if (found == values->end() || !transform.changes()) continue;
    const auto& dims = transform.item.dims();
    size_t pixels = 1;
    for (size_t axis = 2; axis < dims.size(); ++axis) pixels *= static_cast<size_t>(dims[axis]);
    apply(transform, found->second, pixels);
  }
}

void run_on(Net& net, const BlobValues& inputs) {
  for (const auto& [blob, values] : inputs) net.blobs().write(blob, values);
  net.forward({.seed = net.options().seed, .first_sample = 0, .next_sample = 0, .batch = net.batch()});
}

void require_finite_outputs(const Net& net, const DeployNet& definition) {
  const auto finite = [&](const std::string& blob) { return count_not_finite(net.blobs().read(blob)) == 0; };
  if (std::all_of(definition.outputs.begin(), definition.outputs.end(), finite)) return;
  for (const DeployLayer& layer : definition.layers) {
    for (const std::string& top : layer.param.top()) {
      const std::vector<float> values = net.blobs().read(top);
      const int64_t wrong = count_not_finite(values);
      if (wrong == 0) continue;
      const Error error(ErrorKind::kNumeric,
                        str("on a random input ", wrong, " of ", values.size(), " numbers of its top ",
                            definition.names.at(top), " are infinite or no numbers, so nothing can be compared"),
                        "look at the weights of this layer and of those before it; where they "
                        "are sound, the layer takes less than all numbers: end the net before it (-blobs)");
      throw_at(error, layer);
    }
  }
}

bool depends_on_inputs(Net& net, const std::vector<ComparedBlobs>& blobs, const BlobValues& inputs) {
  std::vector<std::vector<float>> before;
  for (const ComparedBlobs& pair : blobs) before.push_back(net.blobs().read(pair.first));
  run_on(net, inputs);
  for (size_t b = 0; b < blobs.size(); ++b) {
    if (net.blobs().read(blobs[b].first) != before[b]) return true;
  }
  return false;
}

Agreement compare(const Net& first, const Net& second, const std::vector<ComparedBlobs>& blobs) {
  Agreement agreement;
  for (const ComparedBlobs& pair : blobs) {
    const std::vector<float> a = first.blobs().read(pair.first), b = second.blobs().read(pair.second);
    if (a.size() != b.size()) {
      throw Error(ErrorKind::kInternal, str("blob ", pair.second, " has ", b.size(), " numbers, not ", a.size()),
                  "please report it with the net");
    }
    double largest = 0, difference = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(a[i])));
      const double apart = std::abs(static_cast<double>(a[i]) - b[i]);
      difference = apart <= difference ? difference : apart;  // what is not a number counts
    }
    const double relative = difference == 0 ? 0 : difference / largest;
    if (!(relative <= agreement.largest) || agreement.blob.empty()) agreement = {relative, pair.second};
  }
  return agreement;
}

}  // namespace robusta::deploy
