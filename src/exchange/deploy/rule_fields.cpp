// Fields that Caffe itself (BVLC 9b891540) does not have: what changes nothing is taken away, the rest refused.

#include <algorithm>
#include <set>
#include <string_view>

#include "base/str.h"
#include "exchange/deploy/rule_checks.h"
#include "schema/ignored_fields.h"
#include "schema/reflect.h"

namespace robusta::deploy {
namespace {

using google::protobuf::Message;

/// The last field number of Caffe's messages; what forks have added to them has larger ones.
struct LastField {
  std::string_view message;
  int number;
};

constexpr LastField kLastFields[] = {
    {"AccuracyParameter", 3},
    {"ArgMaxParameter", 3},
    {"BatchNormParameter", 3},
    {"BiasParameter", 3},
    {"BlobShape", 1},
    {"ClipParameter", 2},
    {"ConcatParameter", 2},
    {"ContrastiveLossParameter", 2},
    {"ConvolutionParameter", 18},
    {"CropParameter", 2},
    {"DataParameter", 10},
    {"DropoutParameter", 1},
    {"DummyDataParameter", 6},
    {"ELUParameter", 1},
    {"EltwiseParameter", 3},
    {"EmbedParameter", 5},
    {"ExpParameter", 3},
    {"FillerParameter", 8},
    {"FlattenParameter", 2},
    {"HDF5DataParameter", 3},
    {"HDF5OutputParameter", 1},
    {"HingeLossParameter", 1},
    {"ImageDataParameter", 12},
    {"InfogainLossParameter", 2},
    {"InnerProductParameter", 6},
    {"InputParameter", 1},
    {"LRNParameter", 6},
    {"LayerParameter", 148},
    {"LogParameter", 3},
    {"LossParameter", 3},
    {"MVNParameter", 3},
    {"MemoryDataParameter", 4},
    {"NetStateRule", 5},
    {"PReLUParameter", 2},
    {"ParamSpec", 4},
    {"ParameterParameter", 1},
    {"PoolingParameter", 13},
    {"PowerParameter", 3},
    {"PythonParameter", 4},
    {"ReLUParameter", 2},
    {"RecurrentParameter", 5},
    {"ReductionParameter", 3},
    {"ReshapeParameter", 3},
    {"SPPParameter", 6},
    {"ScaleParameter", 5},
    {"SigmoidParameter", 1},
    {"SliceParameter", 3},
    {"SoftmaxParameter", 2},
    {"SwishParameter", 1},
    {"TanHParameter", 1},
    {"ThresholdParameter", 1},
    {"TileParameter", 2},
    {"TransformationParameter", 7},
    {"WindowDataParameter", 13},
};

constexpr std::string_view kTypes[] = {
    "AbsVal",
    "Accuracy",
    "ArgMax",
    "BNLL",
    "BatchNorm",
    "BatchReindex",
    "Bias",
    "Clip",
    "Concat",
    "ContrastiveLoss",
    "Convolution",
    "Crop",
    "Data",
    "Deconvolution",
    "Dropout",
    "DummyData",
    "ELU",
    "Eltwise",
    "Embed",
    "EuclideanLoss",
    "Exp",
    "Filter",
    "Flatten",
    "HDF5Data",
    "HDF5Output",
    "HingeLoss",
    "Im2col",
    "ImageData",
    "InfogainLoss",
    "InnerProduct",
    "Input",
    "LRN",
    "LSTM",
    "LSTMUnit",
    "Log",
    "MVN",
    "MemoryData",
    "MultinomialLogisticLoss",
    "PReLU",
    "Parameter",
    "Pooling",
    "Power",
    "Python",
    "RNN",
    "ReLU",
    "Reduction",
    "Reshape",
    "SPP",
    "Scale",
    "Sigmoid",
    "SigmoidCrossEntropyLoss",
    "Silence",
    "Slice",
    "Softmax",
    "SoftmaxWithLoss",
    "Split",
    "Swish",
    "TanH",
    "Threshold",
    "Tile",
    "WindowData",
};

/// Messages of forks in ncnn's caffe.proto, which has other ones in the place of Caffe's swish_param and clip_param.
constexpr std::string_view kNcnnMessages[] = {"permute_param", "prior_box_param",       "detection_output_param",
                                              "norm_param",    "shuffle_channel_param", "roi_pooling_param"};

/// Caffe's enums count from 0; numbers of forks begin here, and so do engines of Intel's.
bool is_foreign_value(const Message& message, const FieldDescriptor* field) {
  if (field->cpp_type() != FieldDescriptor::CPPTYPE_ENUM || field->is_repeated()) return false;
  const int number = message.GetReflection()->GetEnumValue(message, field);
  return number >= 1000 || (field->name() == "engine" && number > 2);
}

/// 0: a message of a fork.
int last_field(const Message& message) {
  for (const LastField& last : kLastFields) {
    if (last.message == message.GetDescriptor()->name()) return last.number;
  }
  return 0;
}

/// A field that Caffe does not have, where it is set, and what it is called from the layer on.
struct Foreign {
  Message* message;
  const FieldDescriptor* field;
  std::string path;
  bool effect;
};

bool is_caffes_type(const std::string& type) {
  return std::find(std::begin(kTypes), std::end(kTypes), type) != std::end(kTypes);
}

/// What training alone reads, which no deployed net has, and what has a rule of its own (floor-pooling).
bool goes_anyway(const FieldDescriptor* field) {
  static const std::set<std::string_view> training{"param",   "loss_param",      "include",
                                                   "exclude", "transform_param", "ceil_mode"};
  return training.contains(field->name()) || field->message_type() == caffe::FillerParameter::descriptor();
}

/// Messages whose fields deploy has brought into Caffe's form before it asks the rules, or refused.
bool is_settled(std::string_view message) {
  return message == "BatchNormParameter" || message == "BNParameter" || message == "DropoutParameter";
}

/// All of them below `message`. What belongs to a layer type of a fork comes with it.
void collect(Message* message, const std::string& path, bool caffes_type, std::vector<Foreign>& found) {
  const auto* reflection = message->GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(*message, &fields);
  const std::string_view name = message->GetDescriptor()->name();
  for (const FieldDescriptor* field : fields) {
    if (goes_anyway(field)) continue;
    const std::string full = path + std::string(field->name());
    const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (field->number() > last_field(*message) || is_foreign_value(*message, field)) {
      if (is_message && !caffes_type) continue;
      const bool effect = !is_settled(name) && !find_ignored(name, field->name()) && !says_default(*message, field);
      found.push_back({message, field, full, effect});
    } else if (is_message && !field->is_repeated()) {
      collect(reflection->MutableMessage(message, field), full + '.', caffes_type, found);
    }
  }
}

std::vector<Foreign> foreign_fields(caffe::LayerParameter* layer) {
  std::vector<Foreign> found;
  if (layer->bottom_size() == 0) return found;  // a source becomes an Input
  collect(layer, "", is_caffes_type(layer->type()), found);
  return found;
}

/// The first message that ncnn's schema lacks.
std::optional<std::string> unknown_to_ncnn(const caffe::LayerParameter& layer) {
  std::vector<const FieldDescriptor*> fields;
  layer.GetReflection()->ListFields(layer, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->number() < caffe::LayerParameter::kSwishParamFieldNumber) continue;
    const std::string name(field->name());
    if (std::find(std::begin(kNcnnMessages), std::end(kNcnnMessages), name) == std::end(kNcnnMessages)) return name;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Finding> check_known_fields(const DeployNet& net, int layer) {
  caffe::LayerParameter copy = net.param(layer);
  const std::vector<Foreign> found = foreign_fields(&copy);
  if (found.empty()) return std::nullopt;
  const auto effective =
      std::find_if(found.begin(), found.end(), [](const Foreign& foreign) { return foreign.effect; });
  const Foreign& first = effective == found.end() ? found.front() : *effective;
  return Finding{str("Caffe itself has no ", first.path, " of this value"), first.path};
}

void mend_known_fields(DeployNet& net, int layer) {
  for (const Foreign& foreign : foreign_fields(&net.param(layer))) {
    if (foreign.effect) {
      throw Error(ErrorKind::kUnsupported,
                  str(foreign.path, " changes what the layer computes, and Caffe itself has it not"),
                  "write the layer with Caffe's own fields")
          .in_field(foreign.path);
    }
    foreign.message->GetReflection()->ClearField(foreign.message, foreign.field);
  }
  net.change();
}

std::optional<Finding> check_known_types(const DeployNet& net, int layer) {
  const std::string& type = net.param(layer).type();
  if (is_caffes_type(type)) return std::nullopt;
  return Finding{str("layer type ", type, " is not one of Caffe's own"), "type"};
}

std::optional<Finding> check_ncnn_fields(const DeployNet& net, int layer) {
  const std::optional<std::string> name = unknown_to_ncnn(net.param(layer));
  if (!name) return std::nullopt;
  return Finding{str("ncnn's schema has no ", *name), *name};
}

void mend_ncnn_fields(DeployNet& net, int layer) {
  net.param(layer).clear_swish_param();  // an earlier rule has seen to its beta
  net.change();
  const std::optional<std::string> unknown = unknown_to_ncnn(net.param(layer));
  if (!unknown) return;
  const std::string& name = *unknown;
  throw Error(ErrorKind::kUnsupported, str("ncnn's schema has no ", name),
              "end the net before this layer (-blobs), or add the message to ncnn's caffe.proto and leave -target out")
      .in_field(name);
}

}  // namespace robusta::deploy
