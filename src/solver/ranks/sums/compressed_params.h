/// Which gradients travel in fewer bits: all of them where -ddl says so, else those that a prototxt of Intel's names.
#pragma once

#include <unordered_set>

#include "comm/ddl_options.h"
#include "net/net.h"

namespace robusta {

struct CompressedParams {
  DdlOptions options;  ///< given, with the format that the net asks for where -compress says none
  bool all = true;     ///< else those of `listed`
  std::unordered_set<const Param*> listed = {};

  bool has(const Param& param) const { return all || listed.contains(&param); }
};

/// Intel's fields, as its documentation of DLCP has them: mn_grad_compress_param of a layer has a word for each of its
/// parameters; where a layer has none, its type may be in compress_layer_type_list of the net, which stands for the
/// weights alone. Its library sends 8 bits. A -mode that cannot do so leaves all as it is, with a warning.
CompressedParams compressed_params(const DdlOptions& options, const Net& net);

}  // namespace robusta
