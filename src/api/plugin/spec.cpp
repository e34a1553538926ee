// Fields of a layer by name, for layers that were compiled without protobuf's headers.
//
// A name without a dot is a key of plugin_param; one with dots is a path through Caffe's messages, walked by
// protobuf's reflection. Values are texts, as a prototxt writes them, and become numbers here.

#include "api/plugin/spec.h"

#include <google/protobuf/text_format.h>

#include <charconv>

#include "base/nearest.h"
#include "base/str.h"

namespace robusta::v1 {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

/// A message and the field that the last name of a path stands for.
struct Place {
  const Message* message;
  const FieldDescriptor* field;
};

std::vector<std::string> names_of(const google::protobuf::Descriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.field_count(); ++i) names.push_back(type.field(i)->name());
  return names;
}

const FieldDescriptor* require_field(const Message& message, const std::string& name, const std::string& path) {
  if (const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(name)) return field;
  throw Error(ErrorKind::kConfig, str("the layer asks for a field \"", path, "\", and there is no ", name,
                                      did_you_mean(name, names_of(*message.GetDescriptor()))));
}

Place walk(const Message& root, const std::string& path) {
  const Message* message = &root;
  for (size_t begin = 0;;) {
    const size_t dot = path.find('.', begin);
    const FieldDescriptor* field = require_field(*message, path.substr(begin, dot - begin), path);
    if (dot == std::string::npos) return {message, field};
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || field->is_repeated()) {
      throw Error(ErrorKind::kConfig,
                  str("the layer asks for a field \"", path, "\", but ", field->name(), " has no fields of its own"));
    }
    message = &message->GetReflection()->GetMessage(*message, field);
    begin = dot + 1;
  }
}

bool is_there(const Place& place) {
  const auto* reflection = place.message->GetReflection();
  return place.field->is_repeated() ? reflection->FieldSize(*place.message, place.field) > 0
                                    : reflection->HasField(*place.message, place.field);
}

/// As a prototxt writes it, strings without their quotes; of a repeated field the first element.
std::string text_of(const Place& place) {
  const auto* reflection = place.message->GetReflection();
  const bool repeated = place.field->is_repeated();
  if (place.field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    return repeated ? reflection->GetRepeatedString(*place.message, place.field, 0)
                    : reflection->GetString(*place.message, place.field);
  }
  std::string text;
  google::protobuf::TextFormat::PrintFieldValueToString(*place.message, place.field, repeated ? 0 : -1, &text);
  return text;
}

[[noreturn]] void refuse(const std::string& field, const std::string& text, const char* wanted) {
  const bool own = field.find('.') == std::string::npos;
  throw Error(ErrorKind::kConfig, str("\"", text, "\" is no ", wanted, " for ", field),
              str("give ", field, " a ", wanted))
      .in_field(own ? "plugin_param" : field);
}

template <typename Number>
Number number_from(const std::string& field, const std::string& text, const char* wanted) {
  Number number{};
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc{} || end != text.data() + text.size()) refuse(field, text, wanted);
  return number;
}

}  // namespace

const std::string* LayerSpec::Impl::find(const std::string& field) const {
  if (field.find('.') != std::string::npos) {
    const Place place = walk(param, field);
    if (!is_there(place)) return nullptr;
    text_ = text_of(place);
    return &text_;
  }
  asked_.insert(field);
  for (const caffe::PluginField& own : param.plugin_param()) {
    if (own.key() == field) return &own.value();
  }
  return nullptr;
}

void LayerSpec::Impl::check_all_used() const {
  const std::vector<std::string> known(asked_.begin(), asked_.end());
  for (int i = 0; i < param.plugin_param_size(); ++i) {
    const std::string& key = param.plugin_param(i).key();
    if (asked_.count(key) > 0) continue;
    throw Error(ErrorKind::kConfig,
                str("layers of type ", param.type(), " know no field \"", key, "\"", did_you_mean(key, known)))
        .in_field(str("plugin_param[", i, "].key"));
  }
}

const caffe::FillerParameter* filler_at(const caffe::LayerParameter& param, const std::string& path) {
  if (path.empty()) return nullptr;
  const Place place = walk(param, path);
  if (place.field->message_type() == caffe::FillerParameter::descriptor() && !place.field->is_repeated()) {
    const Message& filler = place.message->GetReflection()->GetMessage(*place.message, place.field);
    return static_cast<const caffe::FillerParameter*>(&filler);
  }
  throw Error(ErrorKind::kConfig, str("the layer asks for a filler at \"", path, "\", which is none"));
}

const std::string& LayerSpec::name() const { return impl_->param.name(); }
const std::string& LayerSpec::type() const { return impl_->param.type(); }
bool LayerSpec::training() const { return impl_->param.phase() == caffe::TRAIN; }
std::vector<std::string> LayerSpec::bottoms() const {
  return {impl_->param.bottom().begin(), impl_->param.bottom().end()};
}
std::vector<std::string> LayerSpec::tops() const { return {impl_->param.top().begin(), impl_->param.top().end()}; }

bool LayerSpec::has(const std::string& field) const { return impl_->find(field) != nullptr; }

std::string LayerSpec::text(const std::string& field, const std::string& otherwise) const {
  const std::string* text = impl_->find(field);
  return text ? *text : otherwise;
}

double LayerSpec::number(const std::string& field, double otherwise) const {
  const std::string* text = impl_->find(field);
  return text ? number_from<double>(field, *text, "number") : otherwise;
}

int64_t LayerSpec::integer(const std::string& field, int64_t otherwise) const {
  const std::string* text = impl_->find(field);
  return text ? number_from<int64_t>(field, *text, "whole number") : otherwise;
}

bool LayerSpec::flag(const std::string& field, bool otherwise) const {
  const std::string* text = impl_->find(field);
  if (!text) return otherwise;
  if (*text == "true" || *text == "1") return true;
  if (*text != "false" && *text != "0") refuse(field, *text, "true or false");
  return false;
}

}  // namespace robusta::v1
