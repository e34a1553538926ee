// Planning with extreme numbers: every number that a layer can be given, and every extent of its bottom, at the ends of
// its type. A net with one of them either is planned or throws an Error, in little time and memory. Types and fields
// are found by the registry and by reflection, so that new ones are tried, too.

#include <fcntl.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <omp.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ctime>
#include <functional>
#include <limits>

#include "extreme_sources.h"
#include "layers/kit/layer.h"
#include "net/net.h"
#include "support/nets.h"
#include "support/sanitizers.h"

#if ROBUSTA_ADDRESS_SANITIZER || ROBUSTA_THREAD_SANITIZER
#define ROBUSTA_SANITIZED 1
#else
#define ROBUSTA_SANITIZED 0
#endif

namespace robusta::test {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr double kMostSeconds = ROBUSTA_SANITIZED ? 8 : 1;  // of the processor, for one net
constexpr size_t kMostBytes = size_t{3} << 30;              // of address space; a net of 2^31 elements exceeds it
constexpr long kMostResidentKb = 200 << 10;                 // that one net adds
constexpr size_t kRunBytes = size_t{1} << 20;               // nets of this size are run, too

/// A net of one layer, given by the layer and the shapes of its bottoms.
struct ExtremeCase {
  caffe::LayerParameter layer;
  std::vector<std::vector<int64_t>> bottoms;
  bool gradients = true;
  std::string what = "";  ///< what is extreme about it
};

// --- What is tried ---

/// The ends of a field's type, as long double where they are whole numbers.
std::vector<double> extremes(FieldDescriptor::CppType type) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  switch (type) {
    case FieldDescriptor::CPPTYPE_INT32:
      return {0, 1, -1, 1 << 24, 1e9, 2147483647.0, -2147483648.0};
    case FieldDescriptor::CPPTYPE_UINT32:
      return {0, 1, 1 << 24, 1e9, 2147483647.0, 4294967295.0};
    case FieldDescriptor::CPPTYPE_INT64:
      return {0, 1, -1, 1 << 24, 1e9, 2147483647.0, 0x1p40, 0x1.fffffffffffffp62, -0x1p63};
    case FieldDescriptor::CPPTYPE_UINT64:
      return {0, 1, 1 << 24, 2147483647.0, 0x1p40, 0x1.fffffffffffffp63};
    case FieldDescriptor::CPPTYPE_FLOAT:
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return {0, 1, -1, 2147483647.0, 0x1p40, 3e38, 1e-45, nan, inf, -inf};
    default:
      return {};
  }
}

/// Sets the field, or all its elements: one where there is none.
void set(Message& message, const FieldDescriptor* field, double value) {
  const Reflection& r = *message.GetReflection();
  const auto put = [&]<typename T>(T typed, auto set_one, auto set_at, auto add) {
    if (!field->is_repeated()) return (r.*set_one)(&message, field, typed);
    if (r.FieldSize(message, field) == 0) (r.*add)(&message, field, typed);
    for (int i = 0; i < r.FieldSize(message, field); ++i) (r.*set_at)(&message, field, i, typed);
  };
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return put(static_cast<int32_t>(value), &Reflection::SetInt32, &Reflection::SetRepeatedInt32,
                 &Reflection::AddInt32);
    case FieldDescriptor::CPPTYPE_UINT32:
      return put(static_cast<uint32_t>(value), &Reflection::SetUInt32, &Reflection::SetRepeatedUInt32,
                 &Reflection::AddUInt32);
    case FieldDescriptor::CPPTYPE_INT64:
      return put(static_cast<int64_t>(value), &Reflection::SetInt64, &Reflection::SetRepeatedInt64,
                 &Reflection::AddInt64);
    case FieldDescriptor::CPPTYPE_UINT64:
      return put(static_cast<uint64_t>(value), &Reflection::SetUInt64, &Reflection::SetRepeatedUInt64,
                 &Reflection::AddUInt64);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return put(static_cast<float>(value), &Reflection::SetFloat, &Reflection::SetRepeatedFloat,
                 &Reflection::AddFloat);
    default:
      return put(value, &Reflection::SetDouble, &Reflection::SetRepeatedDouble, &Reflection::AddDouble);
  }
}

/// A number of a layer: the messages on the way to it, and its field.
struct Place {
  std::vector<const FieldDescriptor*> way;
  const FieldDescriptor* field;

  void set_in(Message& message, double value) const {
    Message* at = &message;
    for (const FieldDescriptor* step : way) {
      const Reflection& r = *at->GetReflection();
      if (!step->is_repeated()) {
        at = r.MutableMessage(at, step);
      } else {
        at = r.FieldSize(*at, step) > 0 ? r.MutableRepeatedMessage(at, step, 0) : r.AddMessage(at, step);
      }
    }
    set(*at, field, value);
  }
  std::string name() const {
    std::string text;
    for (const FieldDescriptor* step : way) text += step->name() + ".";
    return text + field->name();
  }
};

std::string letters(std::string name) {
  if (name.ends_with("_param")) name.resize(name.size() - 6);
  std::erase(name, '_');
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

void add_places(const google::protobuf::Descriptor* message, std::vector<const FieldDescriptor*> way,
                std::vector<Place>& places) {
  constexpr size_t kDeepest = 4;
  for (int i = 0; i < message->field_count(); ++i) {
    const FieldDescriptor* field = message->field(i);
    if (!extremes(field->cpp_type()).empty()) places.push_back({way, field});
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || way.size() >= kDeepest) continue;
    way.push_back(field);
    add_places(field->message_type(), way, places);
    way.pop_back();
  }
}

/// Whether a layer of the type reads this message: its name speaks of it ("convolution_param" of Deconvolution,
/// "loss_param" of SoftmaxWithLoss), or it is known to.
bool belongs_to(const FieldDescriptor* field, const std::string& type) {
  const bool labels_pixels = type == "ImageSegData" || type == "ImageLabelmapData";
  const bool known = ((type == "LSTM" || type == "RNN") && field->name() == "recurrent_param") ||
                     (type == "Im2col" && field->name() == "convolution_param") ||
                     ((type == "Data" || type.ends_with("ImageData") || type == "WindowData" ||
                       type == "AnnotatedData" || type == "ImageGtData" || labels_pixels) &&
                      field->name() == "transform_param") ||
                     (labels_pixels && field->name() == "image_data_param") ||
                     (type == "ROIAlign" && field->name() == "roi_pooling_param") ||
                     ((type == "BoxOutput" || type == "DecodeBBox" || type == "DetectionLoss" ||
                       type == "DetectionAccuracy" || type == "BboxAccuracy" || type == "ProposalTarget") &&
                      field->name() == "bbox_reg_param") ||
                     (type == "Normalize" && field->name() == "norm_param");
  if (type == "ROIAlign" && field->name() == "roi_align_param") return false;  // of another layer of this name
  return known || letters(type).find(letters(field->name())) != std::string::npos;
}

/// The numbers of the layer itself, and of its messages.
std::vector<Place> places_of(const std::string& type) {
  std::vector<Place> places;
  const google::protobuf::Descriptor* layer = caffe::LayerParameter::descriptor();
  for (int i = 0; i < layer->field_count(); ++i) {
    const FieldDescriptor* field = layer->field(i);
    if (!extremes(field->cpp_type()).empty()) places.push_back({{}, field});
    const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (is_message && (field->name() == "param" || belongs_to(field, type))) {
      add_places(field->message_type(), {field}, places);
    }
  }
  return places;
}

const ExtremeSources& sources() {
  static const ExtremeSources files;
  return files;
}

/// What fields of these names are set to where a layer of the type is not planned without.
void fill_in(Message& message, const std::string& type, bool all) {
  const Reflection& r = *message.GetReflection();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = message.GetDescriptor()->field(i);
    if (field->name() == "num_output" || field->name() == "kernel_size") set(message, field, 3);
    for (const char* two :
         {"tiles", "input_dim", "pyramid_height", "zoom_factor", "pooled_h", "pooled_w", "num_classes", "roi_per_img",
          "output_height", "output_width", "field_h", "field_w", "downsample_rate"}) {
      if (field->name() == two) set(message, field, 2);
    }
    if (field->name() == "batch_size" && !field->is_repeated()) set(message, field, 2);
    for (const char* two : {"channels", "height", "width"}) {
      if (field->name() == two && message.GetDescriptor()->name() == "MemoryDataParameter") set(message, field, 2);
    }
    if (field->name() == "file_name") r.SetString(&message, field, sources().output());
    if (field->name() == "prefix") r.SetString(&message, field, sources().output());
    const std::string source = sources().source_of(message.GetDescriptor()->name(), type);
    if (field->name() == "source" && !source.empty()) r.SetString(&message, field, source);
    if (field->name() == "output_dim") set(message, field, 3);
    if (field->name() == "min_size" && message.GetDescriptor()->name() == "PriorBoxParameter") set(message, field, 4);
    for (const char* one : {"group_size", "spatial_scale"}) {
      if (field->name() == one) set(message, field, 1);
    }
    const bool transforms = message.GetDescriptor()->name() == "TransformationParameter";
    if (field->name() == "stride" && !field->is_repeated() && !transforms) set(message, field, 2);
    if (field->name() == "crop_size" && transforms && type != "ImageGtData") set(message, field, 4);
    if (field->name() == "slice_point" && all) set(message, field, 1);
    for (int end = 0; field->name() == "paddings" && end < 8; ++end) r.AddUInt32(&message, field, 1);
    const bool evaluates_yolo = message.GetDescriptor()->name() == "EvalDetectionParameter";
    for (int i = 0; field->name() == "biases" && evaluates_yolo && i < 4; ++i) r.AddFloat(&message, field, 1);
    if (field->name() == "min" || field->name() == "max") set(message, field, field->name() == "max");
    if (field->name() == "shape" && field->message_type()) {
      Message* shape = field->is_repeated() ? r.AddMessage(&message, field) : r.MutableMessage(&message, field);
      for (const int64_t dim : {2, 3, 8, 8}) {
        shape->GetReflection()->AddInt64(shape, shape->GetDescriptor()->FindFieldByName("dim"), dim);
      }
    }
  }
}

caffe::NetParameter net_of(const ExtremeCase& what) {
  caffe::NetParameter net;
  caffe::LayerParameter layer = what.layer;
  for (size_t i = 0; i < what.bottoms.size(); ++i) {
    caffe::LayerParameter& input = *net.add_layer();
    const std::string name = "bottom" + std::to_string(i);
    input.set_name(name);
    input.set_type("Input");
    input.add_top(name);
    for (const int64_t dim : what.bottoms[i]) {
      caffe::BlobShape& shape = input.input_param().shape_size() > 0 ? *input.mutable_input_param()->mutable_shape(0)
                                                                     : *input.mutable_input_param()->add_shape();
      shape.add_dim(dim);
    }
    layer.add_bottom(name);
  }
  *net.add_layer() = layer;
  return net;
}

/// What layers wait for that take their data from a program.
void give_samples(Net& net) {
  for (const Node& node : net.graph().nodes) {
    if (node.layer->type() != "MemoryData") continue;
    const Shape& data = net.graph().versions[node.tops[0]].shape;
    net.set_samples(node.layer->name(), std::vector<float>(static_cast<size_t>(data.count())),
                    std::vector<float>(static_cast<size_t>(data[0])));
  }
}

/// Plans the net, with gradients of everything, and runs it once where it is small.
void try_it(const ExtremeCase& what) {
  caffe::NetParameter param = net_of(what);
  param.set_force_backward(what.gradients);
  NetOptions options;
  options.backward = what.gradients;
  options.plan_only = true;
  size_t bytes = 0;
  {
    const Net net(net_def(param.DebugString()), options);
    bytes = net.plan().arena_bytes;
    for (const ParamPtr& p : net.params()) bytes += p->desc.bytes();
    for (const Node& node : net.graph().nodes) {
      for (const VersionId top : node.tops) bytes += static_cast<size_t>(net.graph().versions[top].shape.count());
    }
  }
  if (bytes > kRunBytes) return;
  options.plan_only = false;
  Net net(net_def(param.DebugString()), options);
  give_samples(net);
  const Pass pass{
      .seed = 1, .first_sample = 0, .next_sample = static_cast<uint64_t>(net.batch()), .batch = net.batch()};
  net.forward(pass);
  if (what.gradients) net.backward(pass, false);
}

bool can_be_planned(const ExtremeCase& what) {
  try {
    try_it(what);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// The plainest layer of the type with these bottoms.
ExtremeCase plain_case(const std::string& type, const std::vector<std::vector<int64_t>>& bottoms) {
  ExtremeCase plain;
  plain.layer.set_name("layer");
  plain.layer.set_type(type);
  plain.layer.add_top("top");
  plain.bottoms = bottoms;
  return plain;
}

/// The shapes of bottoms that are tried, of few first.
std::vector<std::vector<std::vector<int64_t>>> shapes_of_bottoms() {
  const std::vector<int64_t> first{2, 3, 8, 8}, labels{2, 1, 8, 8}, numbers{2}, square{3, 3}, steps{2, 3},
      deep{2, 4, 8, 8}, regions{2, 5};
  return {{first},
          {first, first},
          {first, labels},
          {first, numbers},
          {first, steps},
          {},
          {first, first, first},
          {first, labels, labels},
          {first, numbers, numbers},
          {first, first, numbers},
          {first, labels, square},
          {steps, first, first},
          {deep},
          {first, regions},
          {{2, 8}, {2, 4}, {1, 2, 8}},
          {regions, numbers, numbers, steps},
          {{2, 8, 4, 4}},
          {{2, 8}, {2, 5}},
          // Of detectors, too large to be run: zeros are no prior boxes, and no ground truth.
          {{1, 18, 128, 128}, {1, 36, 128, 128}, {1, 3}},
          {{1, 400000}, {1, 200000}, {1, 2, 400000}, {1, 1, 4, 8}},
          {{1, 1, 200000, 7}, {1, 1, 4, 8}},
          {{1, 50, 7, 7}, {1, 1, 200000, 8}}};
}

/// Fills in the messages that the type's name speaks of. `all`: two tops, too.
void fill_in_messages(caffe::LayerParameter& layer, bool all) {
  for (int i = 0; i < layer.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = layer.GetDescriptor()->field(i);
    const bool of_type = field->message_type() && !field->is_repeated() && belongs_to(field, layer.type());
    if (of_type) fill_in(*layer.GetReflection()->MutableMessage(&layer, field), layer.type(), all);
  }
  const std::string database = sources().database_of(layer.type());
  if (!database.empty()) layer.mutable_data_param()->set_source(database);
  if (all) layer.add_top("top2");
}

/// Types whose fields and bottoms have to fit each other in ways of their own.
struct NetOfType {
  std::string type, fields;
  std::vector<std::vector<int64_t>> bottoms;
};

const NetOfType kNetsOfTypes[] = {
    {"DetectionLoss",
     "detection_loss_param { cls_num: 2 field_w: 8 field_h: 8 downsample_rate: 8 }",
     {{2, 6, 4, 4}, {2, 6, 4, 4}}},
    {"DetectionAccuracy",
     "top: 'top2' detection_accuracy_param { cls_num: 2 field_w: 8 field_h: 8 downsample_rate: 8 }",
     {{2, 6, 4, 4}, {2, 6, 4, 4}}},
    {"BboxAccuracy", "top: 'top2'", {{3, 8}, {3, 5}, {3, 6}}},
    {"DetectNetTransformation",
     "top: 'top2' detectnet_groundtruth_param { stride: 4 image_size_x: 16 image_size_y: 16 }",
     {{2, 3, 16, 16}, {2, 1, 3, 16}}},
    {"ProposalTarget",
     "top: 'top2' top: 'top3' top: 'top4' top: 'top5' top: 'top6' top: 'top7' proposal_target_param { cls_num: 2 "
     "batch_size: 4 img_width: 64 img_height: 48 }",
     {{400000, 5}, {2, 7}}},  // too large to be run: zeros are no truth
    {"RegionLoss", "region_loss_param { num: 1 num_class: 2 biases: 1 biases: 1 }", {{2, 7, 4, 4}, {3, 8}}},
    {"Yolov3", "yolov3_param { num: 1 num_class: 2 biases: 1 biases: 1 mask: 0 }", {{2, 7, 4, 4}, {2, 10}}},
    {"YoloDetectionOutput",
     "yolo_detection_output_param { num_box: 1 num_classes: 2 biases: 1 biases: 1 }",
     {{2, 7, 4, 4}}},
    {"Yolov3DetectionOutput",
     "yolov3_detection_output_param { num_box: 1 num_classes: 2 biases: 1 biases: 1 mask: 0 mask_group_num: 1 "
     "anchors_scale: 8 }",
     {{2, 7, 4, 4}}},
    {"CtcLoss", "ctc_loss_param { alphabet_size: 3 time_step: 4 }", {{4, 2, 3}, {2, 2}}},
    {"ContinuationIndicator", "continuation_indicator_param { time_step: 4 batch_size: 2 }", {}},
    {"LabelsequenceAccuracy", "", {{2, 4, 3}, {2, 2}}},
    {"LabelSpecificMargin", "label_specific_margin_param { margin_base: 10 }", {{2, 3}, {2}}},
    {"CTCGreedyDecoder", "", {{4, 2, 3}, {4, 2}}},
    {"ReverseTime", "", {{4, 2, 3}, {2}}},
};

/// What may be needed for a layer of the type to be planned, the simplest first.
std::vector<ExtremeCase> candidates_for(const std::string& type) {
  std::vector<ExtremeCase> candidates;
  if (type == "LSTMUnit") {
    candidates.push_back(plain_case(type, {}));
    candidates[0].layer.add_top("top2");
    candidates[0].bottoms = {{1, 2, 3}, {1, 2, 12}, {1, 2}};
  }
  for (const NetOfType& net : kNetsOfTypes) {
    if (net.type != type) continue;
    candidates.push_back(plain_case(type, net.bottoms));
    google::protobuf::TextFormat::MergeFromString(net.fields, &candidates.back().layer);
    candidates.push_back(candidates.back());
    candidates.back().gradients = false;
  }
  for (const int filled : {0, 1, 2}) {
    for (const auto& bottoms : shapes_of_bottoms()) {
      ExtremeCase candidate = plain_case(type, bottoms);
      if (filled > 0) fill_in_messages(candidate.layer, filled == 2);
      candidates.push_back(candidate);
      candidate.gradients = false;
      candidates.push_back(candidate);
      candidate.layer.clear_top();
      candidates.push_back(candidate);
    }
  }
  return candidates;
}

/// A layer of the type that is planned; the plainest one where none is found.
ExtremeCase base_of(const std::string& type) {
  const std::vector<ExtremeCase> candidates = candidates_for(type);
  const auto planned = std::find_if(candidates.begin(), candidates.end(), can_be_planned);
  return planned == candidates.end() ? candidates[0] : *planned;
}

std::vector<ExtremeCase> cases_of(const std::string& type, const ExtremeCase& base) {
  std::vector<ExtremeCase> cases;
  const std::vector<Place> places = places_of(type);
  for (const Place& place : places) {
    for (const double value : extremes(place.field->cpp_type())) {
      ExtremeCase one = base;
      place.set_in(one.layer, value);
      one.what = place.name() + ": " + std::to_string(value);
      cases.push_back(std::move(one));
    }
  }
  // Two at a time, since one alone is often refused for not fitting the others.
  for (size_t a = 0; a < places.size(); ++a) {
    for (size_t b = a + 1; b < places.size(); ++b) {
      const auto is_size = [](const Place& p) {
        return p.field->cpp_type() == FieldDescriptor::CPPTYPE_UINT32 ||
               p.field->cpp_type() == FieldDescriptor::CPPTYPE_INT32 ||
               p.field->cpp_type() == FieldDescriptor::CPPTYPE_INT64;
      };
      if (places[a].way != places[b].way || !is_size(places[a]) || !is_size(places[b])) continue;
      for (const double value : {16777216.0, 1073741824.0}) {
        ExtremeCase two = base;
        places[a].set_in(two.layer, value);
        places[b].set_in(two.layer, value);
        two.what = places[a].name() + " and " + places[b].name() + ": " + std::to_string(value);
        cases.push_back(std::move(two));
      }
    }
  }
  for (const int64_t extent :
       {int64_t{1} << 20, int64_t{1000000000}, int64_t{2147483647}, int64_t{1} << 40, INT64_MAX}) {
    for (size_t axis = 0; axis < 4 && !base.bottoms.empty(); ++axis) {
      for (const bool small : {false, true}) {
        ExtremeCase one = base;
        for (auto& bottom : one.bottoms) {
          if (small) std::fill(bottom.begin(), bottom.end(), 1);
          if (axis < bottom.size()) bottom[axis] = extent;
        }
        one.what =
            "extent " + std::to_string(extent) + " of axis " + std::to_string(axis) + (small ? ", others 1" : "");
        cases.push_back(std::move(one));
      }
    }
  }
  return cases;
}

// --- In a process of its own, with limits ---

/// What the child tells the parent, in memory of both.
struct Progress {
  size_t at;         ///< the case that is being tried
  char fault[4096];  ///< what was wrong with one that went on; "" when nothing was
};

double processor_seconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

long resident_kb() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

void set_limits() {
  omp_set_num_threads(1);  // the threads of the parent are not there
  rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  if (!ROBUSTA_SANITIZED) {
    rlimit memory{kMostBytes, kMostBytes};
    setrlimit(RLIMIT_AS, &memory);
  }
}

void try_cases(const std::vector<ExtremeCase>& cases, Progress& progress) {
  set_limits();
  for (; progress.at < cases.size(); ++progress.at) {
    const ExtremeCase& one = cases[progress.at];
    const double begin = processor_seconds();
    const long resident = resident_kb();
    rlimit time{static_cast<rlim_t>(begin + 2 * kMostSeconds + 2), RLIM_INFINITY};
    setrlimit(RLIMIT_CPU, &time);
    std::string fault;
    try {
      try_it(one);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kInternal) fault = std::string("is called a defect: ") + error.what();
    } catch (const std::exception& error) {
      fault = std::string("throws ") + error.what();
    }
    const double seconds = processor_seconds() - begin;
    if (seconds > kMostSeconds) fault += " takes " + std::to_string(seconds) + " s";
    if (!ROBUSTA_SANITIZED && resident_kb() - resident > kMostResidentKb) {
      fault += " takes " + std::to_string((resident_kb() - resident) >> 10) + " MiB";
    }
    if (fault.empty()) continue;
    std::snprintf(progress.fault, sizeof progress.fault, "%s", fault.c_str());
    _exit(1);  // the parent goes on behind it
  }
  _exit(0);
}

class ExtremeNumbers : public testing::TestWithParam<std::string> {};

TEST_P(ExtremeNumbers, ArePlannedOrRefused) {
  const ExtremeCase base = base_of(GetParam());
  const std::vector<ExtremeCase> cases = cases_of(GetParam(), base);
  void* const shared = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  Progress& progress = *static_cast<Progress*>(shared);
  while (progress.at < cases.size()) {
    progress.fault[0] = 0;
    const pid_t child = fork();
    if (child == 0) try_cases(cases, progress);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) break;
    const std::string fault =
        WIFSIGNALED(status) ? std::string("ends with signal: ") + strsignal(WTERMSIG(status)) : progress.fault;
    ADD_FAILURE() << GetParam() << ", " << cases[progress.at].what << ": " << fault;
    ++progress.at;
  }
  munmap(shared, sizeof(Progress));
}

INSTANTIATE_TEST_SUITE_P(Types, ExtremeNumbers, testing::ValuesIn(layer_types()),
                         [](const auto& info) { return info.param; });

/// Else the numbers of a type that nothing can be planned of would be tried in vain.
TEST(ExtremeNumbersBase, EveryTypeIsPlannedWithOrdinaryNumbers) {
  for (const std::string& type : layer_types()) {
    if (type == "Python") continue;  // its code is not here, and its prototxt has no numbers
    if (type.starts_with("HDF5") && !has_hdf5()) continue;
    if (type == "AutoCrop") continue;  // has no numbers; both its bottoms come from one blob
    EXPECT_NO_THROW(try_it(base_of(type))) << type;
  }
}

}  // namespace
}  // namespace robusta::test
