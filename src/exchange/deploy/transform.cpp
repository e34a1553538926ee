// A mean can be folded where every weight meets a pixel in every window: beside padding it would have to be known
// which.

#include "exchange/deploy/transform.h"

#include <algorithm>
#include <charconv>

#include "base/log.h"
#include "base/nearest.h"
#include "base/str.h"
#include "exchange/deploy/fold.h"
#include "schema/print.h"

namespace robusta::deploy {
namespace {

bool has_padding(const caffe::LayerParameter& layer) {
  const caffe::ConvolutionParameter& p = layer.convolution_param();
  const bool listed = std::any_of(p.pad().begin(), p.pad().end(), [](uint32_t pad) { return pad > 0; });
  return listed || p.pad_h() > 0 || p.pad_w() > 0 || p.pad_t() > 0 || p.pad_b() > 0 || p.pad_l() > 0 || p.pad_r() > 0 ||
         p.pad_type() > 0;
}

/// Why the layer cannot take the transformation into its weights; "" where it can.
std::string why_not(const DeployNet& net, int reader, const InputTransform& transform) {
  const caffe::LayerParameter& layer = net.param(reader);
  if (!is_linear(net, reader)) return str(layer.type(), " ", layer.name(), " has no weights for it");
  const bool mean = !transform.mean_values.empty() || !transform.mean_image.data.empty();
  if (!mean || layer.type() == "InnerProduct") return "";
  if (!transform.mean_image.data.empty()) return "the mean is an image, and differs from pixel to pixel";
  if (layer.type() == "Deconvolution") return str(layer.name(), " is a Deconvolution, whose borders see fewer pixels");
  if (has_padding(layer)) return str(layer.name(), " pads with zeros, which stand for the mean");
  return "";
}

/// The mean that weight `index` of the layer is multiplied with.
double mean_at(const DeployLayer& layer, const InputTransform& transform, size_t pixels, int64_t index) {
  const BlobData& weights = layer.arrays[0];
  if (layer.param.type() != "InnerProduct") {
    if (transform.mean_values.empty()) return 0;
    return transform.mean_values[static_cast<size_t>(input_channel(layer.param, weights, index))];
  }
  const auto inputs = static_cast<size_t>(weights.data.size()) / layer.param.inner_product_param().num_output();
  const auto at = static_cast<size_t>(index);
  const size_t input =
      layer.param.inner_product_param().transpose() ? at / layer.param.inner_product_param().num_output() : at % inputs;
  if (!transform.mean_image.data.empty()) return transform.mean_image.data[input];
  return transform.mean_values.empty() ? 0 : transform.mean_values[input / pixels];
}

/// W (s (x - m)) + b = (s W) x + (b - s W m).
void fold_into(DeployLayer& layer, const InputTransform& transform, size_t pixels) {
  give_bias(layer);
  BlobData& weights = layer.arrays[0];
  std::vector<double> shift(layer.arrays[1].data.size());
  for (size_t k = 0; k < weights.data.size(); ++k) {
    const auto index = static_cast<int64_t>(k);
    const double scaled = static_cast<double>(weights.data[k]) * transform.scale;
    // A Deconvolution comes here without a mean alone.
    shift[static_cast<size_t>(output_channel(layer.param, weights, index))] +=
        scaled * mean_at(layer, transform, pixels, index);
    weights.data[k] = static_cast<float>(scaled);
  }
  for (size_t c = 0; c < shift.size(); ++c) {
    layer.arrays[1].data[c] = static_cast<float>(layer.arrays[1].data[c] - shift[c]);
  }
}

/// y = scale * x - scale * mean as a layer behind the input.
void add_layer(DeployNet& net, const InputTransform& transform, const Shape& shape) {
  const bool image = !transform.mean_image.data.empty();
  const Shape extents = image ? shape.slice(1, 4) : Shape{shape[1]};
  BlobData scale{.shape = extents.dims(), .legacy_dims = false, .data = {}};
  scale.data.assign(static_cast<size_t>(extents.count()), transform.scale);
  BlobData shift{.shape = extents.dims(), .legacy_dims = false, .data = {}};
  shift.data.resize(scale.data.size());
  const std::vector<float>& mean = image ? transform.mean_image.data : transform.mean_values;
  for (size_t k = 0; k < mean.size(); ++k) shift.data[k] = -transform.scale * mean[k];
  caffe::LayerParameter layer;
  layer.set_name(net.free_name(net.names.at(transform.blob) + "_transform"));
  layer.set_type("Scale");
  layer.mutable_scale_param()->set_bias_term(true);
  if (image) layer.mutable_scale_param()->set_num_axes(3);
  const std::string top = net.new_blob(layer.name());
  net.read_instead(transform.blob, top);
  layer.add_bottom(transform.blob);
  layer.add_top(top);
  net.insert(net.producer(transform.blob) + 1, std::move(layer), transform.source, {scale, shift});
}

/// The shortest decimal that reads back to the same float; JSON has no infinities, which no mean is.
std::string decimal(float value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += ' ';
    } else {
      out += c;
    }
  }
  return out + '"';
}

/// Fields that do more than mean and scale, as the prototxt writes them.
std::string other_fields(caffe::TransformationParameter param) {
  param.clear_mean_value();
  param.clear_mean_file();
  param.clear_scale();
  param.clear_mirror();
  std::string text = text_form(param);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace

TransformMode transform_mode(const std::string& name) {
  if (name.empty() || name == "file") return TransformMode::kFile;
  if (name == "fold") return TransformMode::kFold;
  if (name == "none") return TransformMode::kNone;
  throw Error(ErrorKind::kUsage, str("-transform ", name, did_you_mean(name, {"file", "fold", "none"})),
              "give file, fold or none");
}

void fold_transform(DeployNet& net, const InputTransform& transform) {
  const std::vector<int> readers = net.readers(transform.blob);
  const int input = net.producer(transform.blob);
  if (!transform.changes() || input < 0 || readers.empty()) return;
  const Shape shape = net.shapes(input).tops[0];
  const std::string name = net.names.at(transform.blob);
  for (const int reader : readers) {
    const std::string reason = why_not(net, reader, transform);
    if (reason.empty()) continue;
    LOG_INFO << "The transformation of " << name
             << " becomes a Scale layer, for it cannot be folded exactly: " << reason;
    add_layer(net, transform, shape);
    return;
  }
  for (const int reader : readers) {
    fold_into(net.at(reader), transform, static_cast<size_t>(shape.count(2)));
    LOG_INFO << "The transformation of " << name << " is folded into " << net.param(reader).name();
  }
  net.change();
}

std::string transform_json(const DeployNet& net, const std::vector<InputTransform>& transforms) {
  std::string text = "{\"inputs\": [";
  for (const InputTransform& transform : transforms) {
    if (text.back() == '}') text += ", ";
    text += "\n  {\"name\": " + quoted(net.names.at(transform.blob)) + ", \"formula\": \"(pixel - mean) * scale\"";
    text += str(", \"scale\": ", decimal(transform.scale));
    if (!transform.mean_values.empty()) {
      text += ", \"mean_value\": [";
      for (size_t c = 0; c < transform.mean_values.size(); ++c) {
        text += str(c > 0 ? ", " : "", decimal(transform.mean_values[c]));
      }
      text += ']';
    }
    if (!transform.param.mean_file().empty()) text += ", \"mean_file\": " + quoted(transform.param.mean_file());
    if (const std::string other = other_fields(transform.param); !other.empty())
      text += ", \"other\": " + quoted(other);
    text += '}';
  }
  return text + "\n]}\n";
}

}  // namespace robusta::deploy
