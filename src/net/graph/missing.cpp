// What layers want is asked before any is made.

#include "net/graph/missing.h"

#include <utility>

#include "layers/kit/known_layers.h"
#include "schema/read_text.h"
#include "schema/unread_fields.h"

namespace robusta {
namespace {

/// `types_unread`: a layer without a type has one that the schema lacks, which the report says already.
void add_missing(const NetDef& def, bool types_unread, MissingReport& report) {
  for (int i = 0; i < def.param.layer_size(); ++i) {
    const caffe::LayerParameter& layer = def.param.layer(i);
    if (types_unread && layer.type().empty()) continue;
    for (Error& error : missing_in(layer)) {
      error.in_layer(layer.name()).at(def.source_of(i).where(error.field()));
      report.add(std::move(error));
    }
  }
}

template <typename Read>
NetDef read_or_report(const Read& read) {
  try {
    return read();
  } catch (const UnreadFields& unread) {
    MissingReport report = unread.report();
    add_missing(unread.rest(), true, report);
    throw report.error(unread.rest().file);
  }
}

}  // namespace

void refuse_missing(const NetDef& def) {
  MissingReport report;
  add_missing(def, false, report);
  if (!report.empty()) throw report.error(def.file);
}

NetDef read_whole_net(const std::string& path) {
  return read_or_report([&] { return read_net(path); });
}

NetDef parse_whole_net(const std::string& text, const std::string& name) {
  return read_or_report([&] { return parse_net(text, name); });
}

}  // namespace robusta
