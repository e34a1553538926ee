// Causes are compared as texts: layers of one type, or with one field, have the same.

#include "net/graph/missing.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/str.h"
#include "layers/kit/known_layers.h"
#include "robusta/error.h"

namespace robusta {
namespace {

struct Missing {
  Error error;     ///< of the first layer that wants it
  int others = 0;  ///< more layers that do
};

std::optional<Error> missing_of(const caffe::LayerParameter& layer, const LayerSource& source) {
  try {
    require_known(layer);
    return std::nullopt;
  } catch (Error& error) {
    error.in_layer(layer.name()).at(source.where(error.field()));
    return std::move(error);
  }
}

std::vector<Missing> all_missing(const NetDef& def) {
  std::vector<Missing> all;
  for (int i = 0; i < def.param.layer_size(); ++i) {
    std::optional<Error> error = missing_of(def.param.layer(i), def.source_of(i));
    if (!error) continue;
    const auto same = std::find_if(all.begin(), all.end(),
                                   [&](const Missing& known) { return known.error.cause() == error->cause(); });
    if (same == all.end()) {
      all.push_back({std::move(*error)});
    } else {
      ++same->others;
    }
  }
  return all;
}

std::string line_of(const Missing& missing) {
  const Error& error = missing.error;
  const std::string others = missing.others == 0   ? ""
                             : missing.others == 1 ? " (and of 1 more layer)"
                                                   : str(" (and of ", missing.others, " more layers)");
  return str("\n  ", error.location(), ": layer \"", error.layer(), "\"", others, ": ", error.cause());
}

}  // namespace

void refuse_missing(const NetDef& def) {
  const std::vector<Missing> all = all_missing(def);
  if (all.empty()) return;
  if (all.size() == 1) throw all[0].error;
  std::string lines;
  for (const Missing& missing : all) lines += line_of(missing);
  const bool unknown = std::any_of(all.begin(), all.end(),
                                   [](const Missing& missing) { return missing.error.kind() == ErrorKind::kConfig; });
  throw Error(unknown ? ErrorKind::kConfig : ErrorKind::kUnsupported,
              str(all.size(), " things that this net wants are missing:", lines, "\n"),
              "docs/compatibility.md lists what there is")
      .at(def.file);
}

}  // namespace robusta
