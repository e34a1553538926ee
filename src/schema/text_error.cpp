// Protobuf says where it stopped and why; the place in the text tells the messages around it, and so the known names.

#include "schema/text_error.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <vector>

#include "base/nearest.h"
#include "base/str.h"
#include "caffe.pb.h"
#include "schema/known_names.h"

namespace robusta {

using MessageType = google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

namespace {

/// Where in the text an error lies: the messages around it, outermost first, the last word before it, and how many
/// layers have begun.
struct Place {
  std::vector<std::string> path;
  std::string word;
  int layers = 0;
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Offset of a position as protobuf counts it: from 0, a tab goes to the next multiple of 8.
size_t offset_of(const std::string& text, int line, int column) {
  size_t at = 0;
  for (; line > 0; --line) {
    at = text.find('\n', at);
    if (at == std::string::npos) return text.size();
    ++at;
  }
  for (int reached = 0; at < text.size() && reached < column && text[at] != '\n'; ++at)
    reached += text[at] == '\t' ? 8 - reached % 8 : 1;
  return at;
}

size_t skip_comment_or_string(const std::string& text, size_t at) {
  const char kind = text[at];
  if (kind == '#') return std::min(text.find('\n', at), text.size());
  for (++at; at < text.size() && text[at] != kind && text[at] != '\n'; ++at)
    if (text[at] == '\\') ++at;
  return std::min(at + 1, text.size());
}

Place place_at(const std::string& text, size_t end) {
  Place place;
  for (size_t at = 0; at < end;) {
    const char c = text[at];
    if (c == '#' || c == '"' || c == '\'') {
      at = skip_comment_or_string(text, at);
      continue;
    }
    if (is_word(c)) {
      const size_t begin = at;
      while (at < end && is_word(text[at])) ++at;
      place.word = text.substr(begin, at - begin);
      continue;
    }
    if (c == '{' || c == '<') {
      place.layers += place.path.empty() && (place.word == "layer" || place.word == "layers");
      place.path.push_back(place.word);
    }
    if ((c == '}' || c == '>') && !place.path.empty()) place.path.pop_back();
    ++at;
  }
  return place;
}

/// The n-th text in double quotes inside `said`.
std::string quoted(const std::string& said, int n) {
  size_t open = said.find('"');
  for (; n > 0 && open != std::string::npos; --n) {
    open = said.find('"', open + 1);
    if (open != std::string::npos) open = said.find('"', open + 1);
  }
  if (open == std::string::npos) return "";
  const size_t close = said.find('"', open + 1);
  return close == std::string::npos ? "" : said.substr(open + 1, close - open - 1);
}

const MessageType* descend(const MessageType* root, const std::vector<std::string>& path) {
  for (const std::string& name : path) {
    const FieldDescriptor* field = root->FindFieldByName(name);
    if (!field || !field->message_type()) return nullptr;
    root = field->message_type();
  }
  return root;
}

std::vector<std::string> field_names(const MessageType* message) {
  std::vector<std::string> names;
  for (int i = 0; i < message->field_count(); ++i) names.push_back(message->field(i)->name());
  return names;
}

std::vector<std::string> value_names(const EnumDescriptor* values) {
  std::vector<std::string> names;
  for (int i = 0; i < values->value_count(); ++i) names.push_back(values->value(i)->name());
  return names;
}

/// A field at the top that says of which kind the file is. None: it says nothing.
std::optional<Error> other_kind_of_file(const MessageType* root, const std::string& field, const std::string& cause) {
  const bool net = root == caffe::NetParameter::descriptor();
  const std::string wanted = net ? "a net is wanted here" : "a solver is wanted here";
  if (caffe::LabelMap::descriptor()->FindFieldByName(field)) {
    return Error(ErrorKind::kConfig, cause,
                 "this is a label map, which names classes (item { name, label, display_name }): " + wanted);
  }
  const MessageType* other = net ? caffe::SolverParameter::descriptor() : caffe::NetParameter::descriptor();
  if (!other->FindFieldByName(field)) return std::nullopt;
  return Error(ErrorKind::kConfig, cause, str("this is a field of ", net ? "solvers: " : "nets: ", wanted));
}

Error unknown_field(const MessageType* root, const Place& place, const std::string& field) {
  const std::string inside = place.path.empty() ? "" : " in " + place.path.back();
  const std::string cause = str("unknown field \"", field, "\"", inside);
  if (place.path.empty()) {
    if (std::optional<Error> other = other_kind_of_file(root, field, cause)) return *other;
  }
  const MessageType* message = descend(root, place.path);
  if (std::optional<Error> known = refuse_known_field(message ? message->name() : "", field)) return *known;
  return Error(ErrorKind::kConfig, cause + (message ? did_you_mean(field, field_names(message)) : ""));
}

Error unknown_value(const MessageType* root, const Place& place, const std::string& value, const std::string& name) {
  if (std::optional<Error> known = refuse_known_value(name, value)) return *known;
  const std::string cause = str("\"", value, "\" is no value of ", name);
  const MessageType* message = descend(root, place.path);
  const FieldDescriptor* field = message ? message->FindFieldByName(name) : nullptr;
  if (!field || !field->enum_type()) return Error(ErrorKind::kConfig, cause);
  const std::vector<std::string> known = value_names(field->enum_type());
  std::string list;
  constexpr size_t kListed = 12;  // more would bury the suggestion
  for (const std::string& one : known) list += (list.empty() ? "known: " : ", ") + one;
  return Error(ErrorKind::kConfig, cause + did_you_mean(value, known), known.size() <= kListed ? list : "");
}

/// Of a field that may stand once. No Caffe reads several sources in one layer, which is what people hope for.
Error repeated_field(const Place& place, const std::string& field) {
  const std::string inside = place.path.empty() ? "" : place.path.back();
  const bool source = field == "source" && inside.ends_with("data_param");
  return Error(ErrorKind::kConfig, str("\"", field, "\" stands twice", inside.empty() ? "" : " in " + inside),
               source ? "a layer reads one source: give each a layer of its own, and join their tops by Concat layers "
                        "(concat_param { axis: 0 })"
                      : "remove one of them");
}

Error wrong_syntax(const Place& place, const std::string& said) {
  const auto starts = [&](const char* words) { return said.rfind(words, 0) == 0; };
  if (starts("Expected identifier, got: ") && said.size() == std::string("Expected identifier, got: ").size()) {
    const std::string inside = place.path.empty() ? "" : " inside " + place.path.back();
    return Error(ErrorKind::kConfig, "the file ends too early" + inside, "a closing } is missing");
  }
  if (starts("Expected string, got: "))
    return Error(ErrorKind::kConfig, str("the value of ", place.word, " must be text"), "put it in quotes");
  if (starts("Non-repeated field ")) return repeated_field(place, quoted(said, 0));
  std::string words = said;
  words[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(words[0])));
  if (!words.empty() && words.back() == '.') words.pop_back();
  return Error(ErrorKind::kConfig, place.word.empty() ? words : str("at \"", place.word, "\": ", words));
}

/// Several GPUs, as `-gpu` has them; none where the place is about another field.
std::optional<Error> several_devices(const MessageType* root, const std::string& text, size_t at) {
  if (root != caffe::SolverParameter::descriptor()) return std::nullopt;
  constexpr std::string_view kField = "device_id:";
  const size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1, word = text.rfind(kField, at);
  if (word == std::string::npos || word < begin) return std::nullopt;
  const size_t other = text.find_first_not_of(" \t0123456789,[]", word + kField.size());
  if (other < at) return std::nullopt;
  return Error(ErrorKind::kConfig, "device_id is one GPU", "give several by caffe train -gpu 0,1")
      .in_field("device_id");
}

/// Name of the layer around the place, "" when it had none yet.
std::string layer_of(const Message& partial, const Place& place) {
  const auto* net = dynamic_cast<const caffe::NetParameter*>(&partial);
  if (!net || place.path.empty() || place.layers == 0) return "";
  const int index = place.layers - 1;
  if (place.path[0] == "layer" && net->layer_size() > index) return net->layer(index).name();
  if (place.path[0] != "layers" || net->layers_size() <= index) return "";
  const auto& old = net->layers(index);
  return old.layer().has_name() ? old.layer().name() : old.name();
}

/// Blanks the field whose value begins at `at`; false where no name and colon are before it.
bool blank_field(std::string& text, size_t at) {
  size_t end = at;
  while (end < text.size() && is_word(text[end])) ++end;
  size_t begin = at;
  const auto back_over_space = [&] {
    while (begin > 0 && std::isspace(static_cast<unsigned char>(text[begin - 1]))) --begin;
  };
  back_over_space();
  if (begin == 0 || text[begin - 1] != ':') return false;
  --begin;
  back_over_space();
  while (begin > 0 && is_word(text[begin - 1])) --begin;
  for (size_t i = begin; i < end; ++i) {
    if (text[i] != '\n') text[i] = ' ';
  }
  return end > at;
}

}  // namespace

bool is_unread(const std::string& said) {
  return said.starts_with("Message type ") || said.starts_with("Unknown enumeration value of ");
}

bool blank_unread_value(std::string& text, int line, int column, const std::string& said) {
  const std::string value = quoted(said, 0);  // protobuf points behind it, perhaps into a later line
  const size_t end = offset_of(text, line, column);
  const size_t begin = value.empty() || end < value.size() ? std::string::npos : text.rfind(value, end - value.size());
  return begin != std::string::npos && blank_field(text, begin);
}

Error explain_parse_error(const Message& partial, const std::string& text, const std::string& name, int line,
                          int column, const std::string& said) {
  size_t at = offset_of(text, line, column);
  const bool no_field = said.rfind("Message type ", 0) == 0;
  const std::string culprit = no_field ? quoted(said, 1) : "";
  if (no_field) {  // protobuf points behind the name, perhaps into a later line
    const size_t begin = at >= culprit.size() ? text.rfind(culprit, at - culprit.size()) : std::string::npos;
    if (begin != std::string::npos) at = begin;
  }
  const Place place = place_at(text, at);
  const MessageType* root = partial.GetDescriptor();
  const bool no_value = said.rfind("Unknown enumeration value of ", 0) == 0;
  if (std::optional<Error> several = several_devices(root, text, at)) return several->at(str(name, ":", line + 1));
  Error error = no_field   ? unknown_field(root, place, culprit)
                : no_value ? unknown_value(root, place, quoted(said, 0), quoted(said, 1))
                           : wrong_syntax(place, said);
  std::string path;
  for (const std::string& part : place.path) path += part + ".";
  error.in_field(path + (no_field ? culprit : place.word));
  error.at(str(name, ":", 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n')));
  const std::string layer = layer_of(partial, place);
  if (!layer.empty()) error.in_layer(layer);
  return error;
}

}  // namespace robusta
