// Every field of the schema is used by the program, or listed as ignored: nothing is read in silence.
#include "schema/ignored_fields.h"

#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <map>
#include <set>

#include "base/log.h"
#include "base/str.h"
#include "schema/absent_fields.h"
#include "schema/read_text.h"
#include "support/errors.h"
#include "support/files.h"
#include "support/places.h"

namespace robusta::test {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

/// The program's text, without the tables of names and the readers of the oldest forms.
class Sources {
 public:
  Sources() {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source_dir() + "/src")) {
      const std::string name = entry.path().filename().string();
      const bool code = name.ends_with(".cpp") || name.ends_with(".h");
      const bool left_out = name.starts_with("ignored_fields") || name.starts_with("absent_fields") ||
                            name.starts_with("known_names") || name.starts_with("upgrade_v");
      if (!code || left_out) continue;
      (name.starts_with("upgrade") ? upgrades_ : texts_).push_back(read_file(entry.path().string()));
    }
  }

  /// Whether a file that knows one of `contexts` names the field: by an accessor, or in quotes.
  bool use(const std::string& field, const std::vector<std::string>& contexts) const {
    return use_in(texts_, field, contexts) || use_in(upgrades_, field, contexts);
  }

  /// Whether a layer reads its parameters from this field; what moves them from older forms does not count.
  bool layers_read(const std::string& field) const { return use_in(texts_, field, {"Layer", "KernelRequest"}); }

 private:
  static bool use_in(const std::vector<std::string>& texts, const std::string& field,
                     const std::vector<std::string>& contexts) {
    for (const std::string& text : texts) {
      const auto knows = [&](const std::string& context) { return text.find(context) != std::string::npos; };
      if (std::any_of(contexts.begin(), contexts.end(), knows) && names(text, field)) return true;
    }
    return false;
  }

  static bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

  static bool is_accessor(const std::string& text, size_t begin) {
    for (const std::string prefix : {"has_", "mutable_", "clear_", "set_", "add_"}) {
      if (begin >= prefix.size() && text.compare(begin - prefix.size(), prefix.size(), prefix) == 0) return true;
    }
    return begin == 0 || !is_word(text[begin - 1]);
  }

  static bool names(const std::string& text, const std::string& field) {
    for (size_t at = text.find(field); at != std::string::npos; at = text.find(field, at + 1)) {
      const size_t end = at + field.size();
      const bool called = text.compare(end, 1, "(") == 0 || text.compare(end, 6, "_size(") == 0;
      const bool quoted = at > 0 && text[at - 1] == '"' && text.compare(end, 1, "\"") == 0;
      if (quoted || (called && is_accessor(text, at))) return true;
    }
    return false;
  }

  std::vector<std::string> texts_, upgrades_;
};

/// The messages of nets and solvers of the new form, with the fields that hold them.
class Schema {
 public:
  explicit Schema(const Sources& sources) : sources_(sources) {
    visit(caffe::NetParameter::descriptor());
    visit(caffe::SolverParameter::descriptor());
  }

  std::vector<std::string> unused() const {
    std::vector<std::string> found;
    for (const auto& [message, contexts] : contexts_) {
      for (int i = 0; i < message->field_count(); ++i) {
        const std::string field = message->field(i)->name();
        if (find_ignored(message->name(), field) || find_absent(message->name(), field)) continue;
        if (belongs_to_absent_layer(message->field(i))) continue;
        if (!sources_.use(field, {contexts.begin(), contexts.end()})) found.push_back(message->name() + "." + field);
      }
    }
    return found;
  }

 private:
  /// `dummy_param` of a layer that this build does not have: such a layer is refused.
  bool belongs_to_absent_layer(const FieldDescriptor* field) const {
    return field->containing_type() == caffe::LayerParameter::descriptor() && field->message_type() &&
           !sources_.layers_read(field->name());
  }

  /// transform_param's parts are refused unless the transformer knows them, and those of plugins are theirs.
  static bool is_checked_elsewhere(const Descriptor* message) {
    return message == caffe::TransformationParameter::descriptor() || message->name() == "PluginField";
  }

  void visit(const Descriptor* message) {
    const std::string name = message->name();
    if (name.starts_with("V0") || name.starts_with("V1") || is_checked_elsewhere(message)) return;
    std::set<std::string>& contexts = contexts_[message];
    if (!contexts.empty()) return;
    contexts.insert(name);
    if (name == "NetParameter") contexts.insert({"NetDef", "graph().def"});
    if (name == "SolverParameter") contexts.insert({"SolverDef", "def_.param"});
    if (name == "LayerParameter") contexts.insert("param()");
    for (int i = 0; i < message->field_count(); ++i) {
      const FieldDescriptor* field = message->field(i);
      const Descriptor* inner = field->message_type();
      if (!inner || find_ignored(name, field->name()) || belongs_to_absent_layer(field)) continue;
      visit(inner);
      if (contexts_.contains(inner)) contexts_[inner].insert(field->name());
    }
  }

  const Sources& sources_;
  std::map<const Descriptor*, std::set<std::string>> contexts_;
};

TEST(IgnoredFields, EveryFieldOfTheSchemaIsUsedOrListed) {
  const Sources sources;
  EXPECT_EQ(Schema(sources).unused(), std::vector<std::string>{})
      << "use these fields, refuse them, or list them in schema/ignored_fields.cpp or schema/absent_fields.cpp";
}

TEST(IgnoredFields, TheTableNamesFieldsOfTheSchema) {
  const auto* file = caffe::NetParameter::descriptor()->file();
  std::set<std::string> seen;
  for (const IgnoredField& row : ignored_fields()) {
    const Descriptor* message = file->FindMessageTypeByName(std::string(row.message));
    ASSERT_TRUE(message) << row.message;
    EXPECT_TRUE(message->FindFieldByName(std::string(row.field))) << row.message << "." << row.field;
    EXPECT_TRUE(seen.insert(str(row.message, ".", row.field)).second) << row.field << " is listed twice";
    EXPECT_FALSE(row.why.empty());
  }
}

std::vector<std::string> warnings_of(const std::function<void(IgnoredFieldWarnings&)>& look) {
  std::vector<std::string> lines;
  const LogScope scope([&](const LogLine& line) {
    if (line.severity == Severity::kWarning) lines.emplace_back(line.text);
  });
  IgnoredFieldWarnings warnings;
  look(warnings);
  return lines;
}

TEST(IgnoredFields, AreWarnedOfOncePerFile) {
  const NetDef net = parse_net(
      "bn_stats_batch_size: 8\nlayer { name: 'a' type: 'Convolution'\n convolution_param {\n engine: CAFFE } }\n"
      "layer { name: 'b' type: 'Convolution' convolution_param { engine: CAFFE } mn_activation_param { need_reduce: "
      "false } }\n",
      "n.prototxt");
  const auto lines = warnings_of([&](IgnoredFieldWarnings& warnings) {
    warnings.look_at(net);
    warnings.look_at(net);
  });
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(
      lines[0],
      "n.prototxt:1: bn_stats_batch_size (Intel) changes nothing here: BatchNorm takes its statistics from the batch");
  EXPECT_EQ(lines[1], "n.prototxt:4: engine (Caffe) changes nothing here: kernels are chosen by -kernels");
  EXPECT_EQ(lines[2],
            "n.prototxt:5: mn_activation_param (Intel) changes nothing here: layers that are cut redistribute their "
            "activations themselves");
}

TEST(IgnoredFields, OfSolversCountUnlessTheySayTheDefault) {
  const SolverDef plain = parse_solver("solver_data_type: FLOAT\n", "s.prototxt");
  EXPECT_TRUE(warnings_of([&](IgnoredFieldWarnings& warnings) { warnings.look_at(plain); }).empty());
  const SolverDef other = parse_solver("base_lr: 1\nsolver_data_type: FLOAT16\n", "s.prototxt");
  const auto lines = warnings_of([&](IgnoredFieldWarnings& warnings) { warnings.look_at(other); });
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(contains(lines[0], "s.prototxt:2: solver_data_type (NVIDIA) changes nothing here")) << lines[0];
}

}  // namespace
}  // namespace robusta::test
