// Names become versions of the graph, versions become values of the plan, and the executor reads or writes these.

#include "net/blobs.h"

#include <algorithm>

#include "base/nearest.h"
#include "base/str.h"
#include "net/run/arrays.h"
#include "net/run/executor.h"
#include "net/state.h"

namespace robusta {
namespace {

/// The version behind a visible blob name. Throws Error{kUsage} with the nearest name.
VersionId require(const Graph& graph, const std::string& blob) {
  const VersionId version = graph.find(blob);
  if (version) return version;
  std::vector<std::string> names;
  for (const BlobVersion& v : graph.versions) names.push_back(v.name);
  throw Error(ErrorKind::kUsage, "the net has no blob \"" + blob + "\"" + did_you_mean(blob, names));
}

/// The value behind a blob that outlives the pass.
ValueId kept_value(const NetState& net, const std::string& blob) {
  const ValueId value = net.plan.data[require(net.graph, blob)];
  if (value && net.plan.values[value].persistent) return value;
  throw Error(ErrorKind::kUsage, "blob \"" + blob + "\" is not kept after the pass", "build the net with keep_blobs");
}

/// The same of its gradient; none where backward makes none.
ValueId kept_diff(const NetState& net, const std::string& blob) {
  const ValueId value = net.plan.diff[require(net.graph, blob)];
  if (!value || net.plan.values[value].persistent) return value;
  throw Error(ErrorKind::kUsage, "the gradient of \"" + blob + "\" is not kept", "build the net with keep_blobs");
}

}  // namespace

bool Blobs::has(const std::string& blob) const { return bool(net_.graph.find(blob)); }

Shape Blobs::shape(const std::string& blob) const { return net_.graph.versions[require(net_.graph, blob)].shape; }

std::vector<std::string> Blobs::outputs() const {
  std::vector<std::string> names;
  for (const BlobVersion& version : net_.graph.versions) {
    if (!version.consumer && version.name != kAutomaticTop) names.push_back(version.name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

float Blobs::loss_weight(const std::string& blob) const {
  return net_.graph.versions[require(net_.graph, blob)].loss_weight;
}

std::vector<float> Blobs::read(const std::string& blob) const { return net_.running().read(kept_value(net_, blob)); }

std::vector<float> Blobs::read_diff(const std::string& blob) const {
  const ValueId value = kept_diff(net_, blob);
  return value ? net_.running().read(value) : std::vector<float>(static_cast<size_t>(shape(blob).count()));
}

Tensor Blobs::memory(const std::string& blob) const { return net_.running().tensor(kept_value(net_, blob)); }

Tensor Blobs::diff_memory(const std::string& blob) const {
  const ValueId value = kept_diff(net_, blob);
  return value ? net_.running().tensor(value) : Tensor{};
}

void Blobs::write(const std::string& blob, const std::vector<float>& values) {
  // An input that layers overwrite in place has several versions: the net reads the first one, and people see the last.
  const VersionId last = require(net_.graph, blob), input = net_.graph.find_input(blob);
  const VersionId version = input ? input : last;
  const Shape& shape = net_.graph.versions[version].shape;
  if (static_cast<int64_t>(values.size()) != shape.count()) {
    throw Error(ErrorKind::kUsage, str(values.size(), " numbers for blob \"", blob, "\" of shape ", shape.str()));
  }
  net_.running().write(net_.plan.data[version], values);
  // Until the next pass the blob is what was written, for whoever reads it.
  const ValueId visible = net_.plan.data[last];
  const bool kept = visible && net_.plan.values[visible].persistent;
  if (last != version && kept && net_.graph.versions[last].shape == shape) net_.running().write(visible, values);
}

void Blobs::write_diff(const std::string& blob, const std::vector<float>& values) {
  const ValueId value = kept_diff(net_, blob);
  if (!value) throw Error(ErrorKind::kUsage, "blob \"" + blob + "\" has no gradient to set");
  net_.running().write(value, values);
}

std::vector<float> Blobs::read_param(const Param& param) const { return read_array(*net_.stream, param.tensor()); }

std::vector<float> Blobs::read_param_diff(const Param& param) const {
  return read_array(*net_.stream, param.gradient());
}

void Blobs::write_param(Param& param, const std::vector<float>& values) {
  write_array(*net_.stream, param.tensor(), values);
  ++param.version;
}

void Blobs::write_param_diff(Param& param, const std::vector<float>& values) {
  write_array(*net_.stream, param.gradient(), values);
}

}  // namespace robusta
