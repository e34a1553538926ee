/// The parameters of a net while it is built: multipliers, names, sharing.
#pragma once

#include <map>
#include <string>

#include "net/graph/graph.h"
#include "net/options.h"

namespace robusta {

/// Adds the parameters of layers to a graph, in order. Rules: facts of Caffe's ParamSpec - the first layer with a name
/// owns it, STRICT sharing wants equal shapes, PERMISSIVE equal counts, explicit multipliers must agree.
class ParamTable {
 public:
  /// `lender`: where parameters come from that another net shares with this one, or null.
  ParamTable(Graph& graph, const NetOptions& options, const Graph* lender)
      : graph_(graph), options_(options), lender_(lender) {}
  /// Throws Error{kConfig} where sharers disagree.
  void add(Node& node);

 private:
  struct Owner {
    ParamPtr param;
    bool lr_given = false, decay_given = false;
    bool rewritten = false;  ///< by its owner (kit/rewrites_params.h)
  };
  ParamPtr find_or_make(const Node& node, const std::vector<ParamDecl>& decls, size_t i, const caffe::ParamSpec& spec);
  ParamPtr own(const Node& node, const ParamDecl& decl, const caffe::ParamSpec& spec, int i);
  ParamPtr share(Owner& owner, const ParamDecl& decl, const caffe::ParamSpec& spec);
  /// The parameter of the same layer in the net that lends its parameters, or null.
  ParamPtr lent(const Node& node, const std::vector<ParamDecl>& decls, size_t i) const;

  Graph& graph_;
  const NetOptions& options_;
  const Graph* lender_;
  std::map<std::string, Owner> named_;
};

}  // namespace robusta
