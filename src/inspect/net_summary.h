/// What a net is made of, layer by layer: shapes, parameters, arithmetic, memory.
///
/// Taken from a net that was built and planned but never run, so no data and no memory for passes are needed.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "net/net.h"

namespace robusta {

struct NamedShape {
  std::string name;
  Shape shape;
};

struct LayerSummary {
  std::string name, type;
  std::vector<NamedShape> bottoms, tops;
  std::vector<Shape> params;              ///< shared ones, too
  int64_t param_count = 0;                ///< numbers in them that this layer owns; what it shares counts at its owner
  std::string shared_from;                ///< the layer that owns the first parameter that this one shares; "": none
  double flops = 0;                       ///< of a forward pass of the whole batch, a multiply-add counted as two
  int64_t top_bytes = 0;                  ///< of its tops as f32; 0 for tops in place
  bool learns = false, in_place = false;  ///< has a rate of learning; its top is its bottom's blob
};

struct NetSummary {
  std::string name, phase;
  int64_t batch = 1;                 ///< samples of a pass
  std::vector<LayerSummary> layers;  ///< without the Split layers that are put in between
  int64_t params = 0, learned = 0;   ///< numbers; those that some rate of learning is for
  double flops = 0;
  size_t weights_bytes = 0, pass_bytes = 0, unshared_bytes = 0;  ///< pass_bytes: as the planner has placed the values
};

/// REQUIRES: a net that is planned (NetOptions::plan_only suffices).
NetSummary summarise(const Net& net);

/// A table for people.
void print_summary(std::ostream& out, const NetSummary& summary);

/// One JSON object, with the members of NetSummary.
void print_summary_json(std::ostream& out, const NetSummary& summary);

}  // namespace robusta
