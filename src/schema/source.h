/// Where each part of a prototxt was written.
///
/// The messages themselves know nothing of files; a NetDef carries them together with the lines they came from,
/// through upgrades, filtering and Split insertion, so that an error found late still names a line. Plain values,
/// copied freely.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "caffe.pb.h"

namespace robusta {

/// Path of a field inside its message ("convolution_param.kernel_size", "bottom", "bottom[1]") -> line, from 1.
/// A repeated field is there with its index and, for the first element, without.
using FieldLines = std::map<std::string, int, std::less<>>;

/// "file:line" of `field`; of the nearest message around it when the field was not written; "file" without any line.
std::string where_in(const std::string& file, int line, const FieldLines& fields, std::string_view field);

struct LayerSource {
  std::string file;
  int line = 0;       ///< where the layer begins; 0 when it was made by the program
  FieldLines fields;  ///< below the layer: "convolution_param.num_output"

  std::string where(std::string_view field = "") const { return where_in(file, line, fields, field); }
};

/// A net with the source of each layer.
/// INVARIANT (after reading): no `layers`, and sources[i] belongs to param.layer(i).
struct NetDef {
  caffe::NetParameter param;
  std::string file;
  std::vector<LayerSource> sources;
  FieldLines fields;  ///< of the net itself: "name", "input", "force_backward", ...

  std::string where(std::string_view field = "") const { return where_in(file, 0, fields, field); }
  LayerSource& source_of(int layer) { return sources[static_cast<size_t>(layer)]; }
  const LayerSource& source_of(int layer) const { return sources[static_cast<size_t>(layer)]; }
};

struct SolverDef {
  caffe::SolverParameter param;
  std::string file;
  FieldLines lines;  ///< of fields, as far as the text has told

  std::string where(std::string_view field = "") const { return where_in(file, 0, lines, field); }
};

}  // namespace robusta
