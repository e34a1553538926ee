/// What toolchains cannot take of a net that Caffe takes: a table (rules.cpp), each rule with its check and its way
/// out.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "exchange/deploy/deploy_net.h"
#include "exchange/deploy/finding.h"
#include "exchange/deploy/targets.h"

namespace robusta::deploy {

struct Rule {
  const char* name;       ///< "floor-pooling"
  const char* statement;  ///< what has to hold
  uint32_t breaks;        ///< the toolchains that fail or compute something else otherwise
  const char* others;     ///< programs that are no targets
  const char* source;     ///< "measured", "source", "documentation"
  const char* way_out;    ///< what deploy does
  /// Looks at a layer. Null: the rule is about files, whose form deploy always writes; lint looks at it by itself.
  std::optional<Finding> (*check)(const DeployNet& net, int layer);
  /// Makes the layer pass the check, with the same outputs, or throws Error{kUnsupported} in its field. Layers without
  /// arrays (lint) are changed in their definition alone. Null: nothing can be done, and nobody refuses; a warning.
  void (*mend)(DeployNet& net, int layer);
};

std::span<const Rule> rules();

/// The table as Markdown, as docs/deploy.md has it.
std::string rules_markdown();

/// Mends what breaks the rules of these toolchains, and warns of what cannot be mended and is no reason to refuse.
/// Throws Error{kUnsupported} at the layer's line.
void mend(DeployNet& net, uint32_t toolchains);

}  // namespace robusta::deploy
