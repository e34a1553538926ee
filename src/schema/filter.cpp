// Caffe's rules of inclusion: all that a rule gives must hold, and one of several rules suffices. Lines for layers that
// stay out are Caffe's own, which log parsers know.

#include "schema/filter.h"

#include <algorithm>

#include "base/log.h"
#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

bool has_stage(const caffe::NetState& state, const std::string& stage) {
  return std::find(state.stage().begin(), state.stage().end(), stage) != state.stage().end();
}

/// "" when the rule holds.
std::string broken_part(const caffe::NetState& state, const caffe::NetStateRule& rule) {
  if (rule.has_phase() && rule.phase() != state.phase())
    return str("phase (", state.phase(), ") differed from the phase (", rule.phase(), ")");
  if (rule.has_min_level() && state.level() < rule.min_level())
    return str("level (", state.level(), ") is below the min_level (", rule.min_level(), ")");
  if (rule.has_max_level() && state.level() > rule.max_level())
    return str("level (", state.level(), ") is above the max_level (", rule.max_level(), ")");
  for (const std::string& stage : rule.stage())
    if (!has_stage(state, stage)) return str("did not contain stage '", stage, "'");
  for (const std::string& stage : rule.not_stage())
    if (has_stage(state, stage)) return str("contained a not_stage '", stage, "'");
  return "";
}

}  // namespace

bool state_meets_rule(const caffe::NetState& state, const caffe::NetStateRule& rule, std::string* why_not) {
  const std::string broken = broken_part(state, rule);
  if (why_not) *why_not = broken;
  return broken.empty();
}

std::string why_left_out(const caffe::LayerParameter& layer, const caffe::NetState& state) {
  for (const caffe::NetStateRule& rule : layer.exclude())
    if (state_meets_rule(state, rule)) return str("The NetState met an exclude rule in layer ", layer.name());
  std::string why_not;
  for (const caffe::NetStateRule& rule : layer.include())
    if (state_meets_rule(state, rule, &why_not)) return "";
  if (layer.include_size() == 0) return "";
  return str("The NetState ", why_not, " specified by a rule in layer ", layer.name());
}

NetDef filter_net(const NetDef& net, const caffe::NetState& state) {
  NetDef kept;
  kept.file = net.file;
  kept.fields = net.fields;
  kept.param = net.param;
  kept.param.clear_layer();
  *kept.param.mutable_state() = state;
  for (int i = 0; i < net.param.layer_size(); ++i) {
    const caffe::LayerParameter& layer = net.param.layer(i);
    const LayerSource& source = net.source_of(i);
    if (layer.include_size() > 0 && layer.exclude_size() > 0)
      throw Error(ErrorKind::kConfig, "both include and exclude rules", "use rules of one kind")
          .in_field("exclude")
          .in_layer(layer.name())
          .at(source.where("exclude"));
    if (const std::string line = why_left_out(layer, state); !line.empty()) {
      LOG_INFO << line;
      continue;
    }
    *kept.param.add_layer() = layer;
    kept.sources.push_back(source);
  }
  return kept;
}

}  // namespace robusta
