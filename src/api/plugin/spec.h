/// What stands behind a public LayerSpec: the layer's message, and which fields of the plugin's own were asked for.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "caffe.pb.h"
#include "robusta/layer.h"

namespace robusta::v1 {

struct LayerSpec::Impl {
  explicit Impl(const caffe::LayerParameter& layer) : param(layer) {}

  /// The text of a field, null where it is not there. Throws Error{kConfig} for a path that the schema does not have.
  const std::string* find(const std::string& field) const;
  /// Throws Error{kConfig} for a plugin_param that nobody has asked for.
  void check_all_used() const;

  const caffe::LayerParameter& param;  ///< of the layer, which outlives its spec

 private:
  mutable std::set<std::string> asked_;
  mutable std::string text_;  ///< of the last field of the schema
};

/// The FillerParameter at a path of the schema; null for "". Throws Error{kConfig}.
const caffe::FillerParameter* filler_at(const caffe::LayerParameter& param, const std::string& path);

}  // namespace robusta::v1
