// Caffe's rules of sharing: one owner per name, whose shape and multipliers all others have to agree with.

#include "net/graph/param_table.h"

#include "base/str.h"
#include "layers/kit/rewrites_params.h"

namespace robusta {
namespace {

/// Explicit multipliers of sharers must agree; the first explicit one counts.
void agree(const char* what, float& value, bool& given, bool has, float wanted, const std::string& name) {
  if (!has) return;
  if (given && value != wanted) {
    throw Error(ErrorKind::kConfig,
                str("shared param \"", name, "\" has mismatched ", what, ": ", value, " and ", wanted),
                str("give the same ", what, " everywhere, or only once"))
        .in_field(str("param.", what));
  }
  value = wanted;
  given = true;
}

bool rewrites(const Node& node, size_t i) {
  const auto* layer = dynamic_cast<const RewritesParams*>(node.layer.get());
  return layer && layer->rewrites(static_cast<int>(i));
}

/// What one layer writes back all its sharers have to, or none of them.
void agree_on_rewriting(const std::string& owner, bool rewritten, const Node& node, size_t i, const std::string& name) {
  if (rewritten == rewrites(node, i)) return;
  const std::string scales = "scales its rows to length 1 in training";
  throw Error(ErrorKind::kConfig,
              str("shared param \"", name, "\": ", rewritten ? str("its owner \"", owner, "\"") : "this layer", " ",
                  scales, ", and ", rewritten ? "this layer" : str("its owner \"", owner, "\""), " does not"),
              "let all layers that share it do so (inner_product_param.normalize), or give it two names")
      .in_field("param.name");
}

}  // namespace

void ParamTable::add(Node& node) {
  const caffe::LayerParameter& layer = node.layer->param();
  const std::vector<ParamDecl> decls = node.layer->params();
  if (layer.param_size() > static_cast<int>(decls.size())) {
    throw Error(ErrorKind::kConfig, str(layer.param_size(), " param entries for ", decls.size(), " parameters"),
                "remove the surplus `param { }` entries")
        .in_field("param");
  }
  static const caffe::ParamSpec kDefault;
  for (size_t i = 0; i < decls.size(); ++i) {
    const int n = static_cast<int>(i);
    const caffe::ParamSpec& spec = n < layer.param_size() ? layer.param(n) : kDefault;
    node.params.push_back(find_or_make(node, decls, i, spec));
    node.param_grads.push_back(!decls[i].statistic);
  }
}

ParamPtr ParamTable::find_or_make(const Node& node, const std::vector<ParamDecl>& decls, size_t i,
                                  const caffe::ParamSpec& spec) {
  const ParamPtr theirs = lent(node, decls, i);
  const auto known = spec.name().empty() ? named_.end() : named_.find(spec.name());
  if (known != named_.end()) {
    agree_on_rewriting(known->second.param->layer, known->second.rewritten, node, i, spec.name());
    return share(known->second, decls[i], spec);
  }
  ParamPtr param = theirs ? theirs : own(node, decls[i], spec, static_cast<int>(i));
  graph_.params.push_back(param);
  graph_.fillers.push_back(decls[i].filler);
  graph_.given_values.push_back(decls[i].values);
  graph_.filled_here.push_back(!theirs);
  if (!spec.name().empty()) {
    named_[spec.name()] = {param, spec.has_lr_mult(), spec.has_decay_mult(), rewrites(node, i)};
  }
  return param;
}

ParamPtr ParamTable::own(const Node& node, const ParamDecl& decl, const caffe::ParamSpec& spec, int i) {
  auto param = std::make_shared<Param>();
  param->layer = node.layer->name();
  param->index = i;
  param->display_name = spec.name().empty() ? std::to_string(i) : spec.name();
  param->desc = {decl.shape, options_.dtype, nullptr};
  param->statistic = decl.statistic;
  param->lr_mult = decl.statistic ? 0 : spec.lr_mult();
  param->decay_mult = spec.decay_mult();
  return param;
}

ParamPtr ParamTable::share(Owner& owner, const ParamDecl& decl, const caffe::ParamSpec& spec) {
  const Shape& shape = owner.param->desc.shape;
  const bool permissive = spec.share_mode() == caffe::ParamSpec::PERMISSIVE;
  if (permissive ? shape.count() != decl.shape.count() : shape != decl.shape) {
    throw Error(ErrorKind::kConfig,
                str("shared param \"", spec.name(), "\" has shape ", decl.shape.str(), ", but its owner \"",
                    owner.param->layer, "\" gives it ", shape.str()),
                permissive ? "the element counts must agree" : "make the shapes equal, or set share_mode: PERMISSIVE")
        .in_field("param.name");
  }
  agree("lr_mult", owner.param->lr_mult, owner.lr_given, spec.has_lr_mult(), spec.lr_mult(), spec.name());
  agree("decay_mult", owner.param->decay_mult, owner.decay_given, spec.has_decay_mult(), spec.decay_mult(),
        spec.name());
  return owner.param;
}

ParamPtr ParamTable::lent(const Node& node, const std::vector<ParamDecl>& decls, size_t i) const {
  if (!lender_) return nullptr;
  const std::vector<ParamPtr> theirs = lender_->layer_params(node.layer->name());
  if (theirs.empty()) return nullptr;
  if (theirs.size() != decls.size()) {
    throw Error(ErrorKind::kConfig, str(decls.size(), " parameters here and ", theirs.size(), " in the train net"),
                "give the layers of the same name the same definition, or another name");
  }
  if (theirs[i]->desc.shape != decls[i].shape) {
    throw Error(ErrorKind::kConfig,
                str("parameter ", i, " has shape ", decls[i].shape.str(), " here and ", theirs[i]->desc.shape.str(),
                    " in the train net"),
                "give the layers of the same name the same sizes, or another name");
  }
  if (theirs[i]->desc.dtype != options_.dtype) {
    throw Error(ErrorKind::kUsage,
                str("parameter ", i, " is to be shared: its elements are ", name_of(theirs[i]->desc.dtype),
                    " there, and this net's ", name_of(options_.dtype)),
                "build both nets with one dtype");
  }
  return theirs[i];
}

}  // namespace robusta
