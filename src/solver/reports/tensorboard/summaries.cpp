// Scalars and histograms in the older of TensorBoard's two forms, which every version of it reads and which needs no
// tensors; hyper-parameters as its plugin "hparams" has them (plugins/hparams/summary.py). What reads these messages
// refuses text that is no UTF-8, and with it the whole file.

#include "solver/reports/tensorboard/summaries.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "base/utf8.h"

namespace robusta {
namespace {

using google::protobuf::FieldDescriptor;

double seconds_of_the_session() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

void add_session(tensorboard::Summary& summary, const char* tag, const tensorboard::HParamsPluginData& data) {
  tensorboard::Summary::Value* value = summary.add_value();
  value->set_tag(tag);
  // A tensor has to be there, and says nothing.
  value->mutable_tensor()->set_dtype(tensorboard::DT_FLOAT);
  value->mutable_tensor()->mutable_tensor_shape()->add_dim()->set_size(0);
  auto* plugin = value->mutable_metadata()->mutable_plugin_data();
  plugin->set_plugin_name("hparams");
  plugin->set_content(data.SerializeAsString());
}

tensorboard::HParamValue& add_hparam(tensorboard::SessionStartInfo& start, const std::string& name) {
  tensorboard::SessionStartInfo::HParam& added = *start.add_hparams();
  added.set_key(name);
  return *added.mutable_value();
}

/// False: the field is a message.
bool read_setting(const google::protobuf::Message& message, const FieldDescriptor& field,
                  tensorboard::HParamValue& value) {
  const google::protobuf::Reflection& fields = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return value.set_number_value(fields.GetInt32(message, &field)), true;
    case FieldDescriptor::CPPTYPE_INT64:
      return value.set_number_value(static_cast<double>(fields.GetInt64(message, &field))), true;
    case FieldDescriptor::CPPTYPE_UINT32:
      return value.set_number_value(fields.GetUInt32(message, &field)), true;
    case FieldDescriptor::CPPTYPE_UINT64:
      return value.set_number_value(static_cast<double>(fields.GetUInt64(message, &field))), true;
    case FieldDescriptor::CPPTYPE_FLOAT:
      return value.set_number_value(fields.GetFloat(message, &field)), true;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return value.set_number_value(fields.GetDouble(message, &field)), true;
    case FieldDescriptor::CPPTYPE_BOOL:
      return value.set_bool_value(fields.GetBool(message, &field)), true;
    case FieldDescriptor::CPPTYPE_STRING:
      return value.set_string_value(as_utf8(fields.GetString(message, &field))), true;
    case FieldDescriptor::CPPTYPE_ENUM:
      return value.set_string_value(fields.GetEnum(message, &field)->name()), true;
    case FieldDescriptor::CPPTYPE_MESSAGE:
      break;
  }
  return false;
}

}  // namespace

void add_scalar(tensorboard::Summary& summary, const std::string& tag, double value) {
  tensorboard::Summary::Value* added = summary.add_value();
  added->set_tag(as_utf8(tag));
  added->set_simple_value(static_cast<float>(value));
}

void add_histogram(tensorboard::Summary& summary, const std::string& tag, std::span<const float> values) {
  constexpr size_t kBuckets = 64;
  double least = 0, most = 0, sum = 0, squares = 0;
  int64_t count = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    least = count ? std::min(least, value) : value;
    most = count ? std::max(most, value) : value;
    sum += value;
    squares += value * value;
    ++count;
  }
  if (count == 0) return;
  std::array<int64_t, kBuckets> buckets{};
  const double per_width = most > least ? kBuckets / (most - least) : 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    const auto at = static_cast<size_t>((value - least) * per_width);
    ++buckets[std::min(at, kBuckets - 1)];
  }
  tensorboard::Summary::Value* added = summary.add_value();
  added->set_tag(as_utf8(tag));
  tensorboard::HistogramProto& histogram = *added->mutable_histo();
  histogram.set_min(least);
  histogram.set_max(most);
  histogram.set_num(static_cast<double>(count));
  histogram.set_sum(sum);
  histogram.set_sum_squares(squares);
  const size_t used = most > least ? kBuckets : 1;
  for (size_t i = 0; i < used; ++i) {
    const double share = static_cast<double>(i + 1) / static_cast<double>(used);
    histogram.add_bucket_limit(i + 1 == used ? most : least + (most - least) * share);
    histogram.add_bucket(static_cast<double>(buckets[i]));
  }
}

void add_hparams(tensorboard::Summary& summary, const google::protobuf::Message& settings,
                 std::span<const std::pair<std::string, double>> more) {
  tensorboard::HParamsPluginData data;
  data.set_version(0);
  tensorboard::SessionStartInfo& start = *data.mutable_session_start_info();
  start.set_start_time_secs(seconds_of_the_session());
  std::vector<const FieldDescriptor*> set;
  settings.GetReflection()->ListFields(settings, &set);
  for (const FieldDescriptor* field : set) {
    tensorboard::HParamValue value;
    if (!field->is_repeated() && read_setting(settings, *field, value)) add_hparam(start, field->name()) = value;
  }
  for (const auto& [name, number] : more) add_hparam(start, name).set_number_value(number);
  add_session(summary, "_hparams_/session_start_info", data);
}

void add_session_end(tensorboard::Summary& summary, bool success) {
  tensorboard::HParamsPluginData data;
  data.set_version(0);
  data.mutable_session_end_info()->set_status(success ? tensorboard::STATUS_SUCCESS : tensorboard::STATUS_FAILURE);
  data.mutable_session_end_info()->set_end_time_secs(seconds_of_the_session());
  add_session(summary, "_hparams_/session_end_info", data);
}

}  // namespace robusta
