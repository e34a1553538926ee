// Reads by wire numbers and not by generated messages, since the forks use some numbers for different fields.

#include "schema/weights_file.h"

#include <algorithm>

#include "base/str.h"
#include "schema/upgrade.h"
#include "schema/wire_reader.h"

namespace robusta {
namespace {

// The few field numbers that carry weights, the same in all forks (proto/caffe.proto).
namespace net_field {
enum { kName = 1, kLayers = 2, kLayer = 100 };
}
namespace layer_field {
enum { kName = 1, kType = 2, kBlobs = 7 };
}
namespace v1_field {
enum { kNested = 1, kName = 4, kType = 5, kBlobs = 6 };
}
namespace v0_field {
enum { kName = 1, kType = 2, kBlobs = 50 };
}
namespace blob_field {
enum { kNum = 1, kWidth = 4, kData = 5, kShape = 7, kDouble = 8, kRawType = 10, kRaw = 12 };
}
/// C3D-v1.0 (facebook/C3D) counts the frames of a window as a third field, and so all behind it have other numbers.
namespace c3d_field {
enum { kWidth = 5, kData = 6 };
}

/// The parts of one BlobProto, before it is known which of them count.
struct BlobParts {
  int64_t dims[5] = {};
  int axes = 4;  ///< of these dims; 5 of C3D's
  bool legacy = false;
  std::vector<int64_t> shape;
  std::vector<float> floats, doubles;
  caffe::Type raw_type = caffe::DOUBLE;
  std::string raw;
};

class WeightsReader {
 public:
  explicit WeightsReader(const BinaryFile& file) : in_(file) {}

  WeightsFile run() {
    WeightsFile weights;
    in_.fields([&](int number, int wire) {
      // Field 1 of a SolverState is the iteration, a number.
      if (number == net_field::kName && wire == kVarint) {
        throw Error(ErrorKind::kModel, "this is a solver state, no weights", "give it with -snapshot");
      }
      if (wire != kBytes) return false;
      if (number == net_field::kName) return weights.net_name = in_.text(), true;
      if (number == net_field::kLayer) return weights.layers.push_back(layer()), true;
      if (number == net_field::kLayers) return weights.layers.push_back(v1_layer()), true;
      return false;
    });
    if (weights.layers.empty()) throw Error(ErrorKind::kModel, "no layers in it: this is no weights file");
    return weights;
  }

 private:
  LayerWeights layer() {
    LayerWeights out;
    in_.message([&](int number, int wire) {
      if (wire != kBytes) return false;
      if (number == layer_field::kName) return out.name = in_.text(), true;
      if (number == layer_field::kType) return out.type = in_.text(), true;
      if (number == layer_field::kBlobs) return out.blobs.push_back(blob(out)), true;
      return false;
    });
    return out;
  }

  LayerWeights v1_layer() {
    LayerWeights out;
    in_.message([&](int number, int wire) {
      if (number == v1_field::kType && wire == kVarint) {
        out.type = v2_type_name(static_cast<caffe::V1LayerParameter::LayerType>(in_.varint()));
        return true;
      }
      if (wire != kBytes) return false;
      if (number == v1_field::kName) return out.name = in_.text(), true;
      if (number == v1_field::kBlobs) return out.blobs.push_back(blob(out)), true;
      if (number == v1_field::kNested) return v0_layer(&out), true;
      return false;
    });
    return out;
  }

  void v0_layer(LayerWeights* out) {
    in_.message([&](int number, int wire) {
      if (wire != kBytes) return false;
      if (number == v0_field::kName) return out->name = in_.text(), true;
      if (number == v0_field::kType) return out->type = v2_type_name(in_.text()), true;
      if (number == v0_field::kBlobs) return out->blobs.push_back(blob(*out)), true;
      return false;
    });
  }

  BlobData blob(const LayerWeights& layer) try {
    BlobParts parts;
    in_.message([&](int number, int wire) { return blob_part(number, wire, &parts); });
    BlobData blob;
    blob.legacy_dims = parts.legacy;
    blob.shape = parts.legacy ? std::vector<int64_t>(parts.dims, parts.dims + parts.axes) : std::move(parts.shape);
    blob.data = std::move(parts.doubles.empty() ? parts.floats : parts.doubles);
    if (blob.data.empty()) append_raw(parts.raw_type, parts.raw, &blob.data);
    require_full(blob);
    return blob;
  } catch (const Error& error) {
    throw Error(error.kind(), str("array ", layer.blobs.size(), ": ", error.cause()), error.fix()).in_layer(layer.name);
  }

  bool blob_part(int number, int wire, BlobParts* parts) {
    using namespace blob_field;
    if (number >= kNum && number <= kWidth && wire == kVarint) {
      parts->legacy = true;
      parts->dims[number - kNum] = static_cast<int32_t>(in_.varint());
    } else if (number == c3d_field::kWidth && wire == kVarint) {
      parts->axes = 5;
      parts->dims[4] = static_cast<int32_t>(in_.varint());
    } else if (number == c3d_field::kData && parts->axes == 5 && (wire == kBytes || wire == kFixed32)) {
      in_.append_floats(wire, &parts->floats);
    } else if (number == kData && (wire == kBytes || wire == kFixed32)) {
      in_.append_floats(wire, &parts->floats);
    } else if (number == kDouble && (wire == kBytes || wire == kFixed64)) {
      in_.append_doubles(wire, &parts->doubles);
    } else if (number == kShape && wire == kBytes) {
      in_.message([&](int inner, int inner_wire) {
        if (inner != 1 || (inner_wire != kBytes && inner_wire != kVarint)) return false;
        return in_.append_varints(inner_wire, &parts->shape), true;
      });
    } else if (number == kRawType && wire == kVarint) {
      parts->raw_type = static_cast<caffe::Type>(std::min<uint64_t>(in_.varint(), caffe::BOOL));
    } else if (number == kRaw && wire == kBytes) {
      parts->raw = in_.text();
    } else {
      return false;
    }
    return true;
  }

  WireReader in_;
};

}  // namespace

/// Scale, bias, mean, variance and a fifth of one number is the order in which older versions of NVIDIA's Caffe write
/// (those of DIGITS); read are mean, variance, factor, scale, bias.
void order_batch_norm(LayerWeights* layer) {
  auto& blobs = layer->blobs;
  const bool may_be = layer->type == "BatchNorm" || layer->type.empty();  // nothing else has five, the last a number
  if (!may_be || blobs.size() != 5 || blobs[4].data.size() != 1) return;
  if (blobs[2].data.size() == 1) return;  // one channel: (mean, variance, factor, scale, bias) looks the same
  std::rotate(blobs.begin(), blobs.begin() + 2, blobs.end());
}

WeightsFile read_weights(const std::string& path) try {
  const BinaryFile file(path, ErrorKind::kModel);
  WeightsFile weights = WeightsReader(file).run();
  for (LayerWeights& layer : weights.layers) order_batch_norm(&layer);
  return weights;
} catch (Error& error) {
  throw error.at(path);
}

void write_weights(const std::string& path, const caffe::NetParameter& net) { write_binary_proto(path, net); }

}  // namespace robusta
