/// The plan of a pass: units of work in order, their kernels, the values they read and write, and where those lie.
///
/// Made from graph and options alone (planner/), so that what will run, and what it costs, is known before anything is
/// allocated.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "layers/kit/kernel.h"
#include "layers/kit/pixel_upload.h"
#include "memory/placement.h"
#include "net/graph/graph.h"
#include "net/plan/ids.h"
#include "tensor/tensor.h"

namespace robusta {

/// A candidate that was asked and why it was not taken.
struct Declined {
  std::string pattern, backend, reason;
};

/// What a unit reads: a version, and whether it wants a gradient.
struct UnitBottom {
  VersionId version;
  bool gradient;
};

/// One layer, or a chain that one kernel computes.
struct Unit {
  std::vector<NodeId> nodes;
  std::vector<UnitBottom> bottoms;  ///< of all nodes in order, without those that come from within the chain
  std::unique_ptr<Kernel> kernel;   ///< null for sources
  std::string backend;              ///< of the kernel that was chosen
  DType storage = DType::kF32;      ///< of bottoms and tops, where the kernel's booking says nothing else
  std::vector<Declined> declined;   ///< better candidates, in the order in which they were asked
  std::vector<Param*> params;
  std::vector<bool> param_grads;
};

/// Something with memory: a version's data or gradient, a reordered copy of one, saved state or scratch.
struct Value {
  std::string label;
  TensorDesc desc;  ///< meaningless when raw
  size_t bytes = 0;
  bool raw = false;         ///< saved state or scratch
  bool persistent = false;  ///< outlives the pass: never shares memory
  bool lent = false;        ///< lies in its source's batch (SourceLayer::ready): takes no memory here
  StepId first, last;       ///< that use it
  ValueId storage;          ///< the value whose memory this one uses (itself, if its own)
  size_t offset = 0;        ///< within the arena, or within the persistent buffer
};

enum class StepKind {
  kSource,
  kForward,
  kBackward,
  kReorder,
  kRepeat,    ///< a forward or reorder step once more, for a value that was given up meanwhile
  kOffload,   ///< bottoms[0] to the host
  kPrefetch,  ///< tops[0] back from there
};

/// Copies run in streams of their own, one each way; all other steps in one.
constexpr bool is_copy(StepKind kind) { return kind == StepKind::kOffload || kind == StepKind::kPrefetch; }

struct Step {
  StepKind kind;
  UnitId unit;  ///< whose work this is (of a Reorder: the unit that asked for it)
  bool in_backward = false;
  std::vector<ValueId> bottoms, tops, bottom_diffs, top_diffs;  ///< none: absent
  ValueId saved, scratch;
  std::shared_ptr<Reorder> reorder;           ///< from bottoms[0] to tops[0]
  bool lends = false;                         ///< of a source: its batches are read in place, or copied from there
  std::shared_ptr<const PixelUpload> pixels;  ///< of a source: what top 0 is made from; null: it comes as numbers
  std::vector<Param*> ready;                  ///< parameters whose gradient this step completes
  std::vector<char> first_part;  ///< per parameter of the unit: the first gradient contribution of the pass
  size_t host_offset = 0;        ///< of a copy: where its content lies on the host
  std::vector<StepId> waits;     ///< earlier steps of other streams that have to be done before; one per stream
  bool awaited = false;          ///< some step waits for this one
};

/// Calls visit(ValueId) for every value that the step reads or writes.
template <typename Visit>
void for_values(const Step& step, const Visit& visit) {
  for (const auto* values : {&step.bottoms, &step.tops, &step.bottom_diffs, &step.top_diffs}) {
    for (const ValueId value : *values) {
      if (value) visit(value);
    }
  }
  if (step.saved) visit(step.saved);
  if (step.scratch) visit(step.scratch);
}

/// A copy of a parameter that a pass begins with (Booking::packed).
struct PackedCopy {
  UnitId unit;  ///< whose kernel reads it
  const Param* param;
  PackedParam form;
  size_t offset;  ///< within Plan::packed_memory
};

/// A gradient that a step leaves in another order or type (Booking::packed_gradients). It is brought into the
/// parameter's memory when backward has come to its end, or before somebody is told that it is complete.
struct PackedGradient {
  StepId step;  ///< of backward
  Param* param;
  PackedParam form;
  ValueId memory;  ///< alive from that step to the last
};

/// What large model support makes of a pass (offload.h). Times are predictions.
struct Offloading {
  bool planned = false;
  int moved = 0, repeated = 0;                     ///< values
  size_t bytes_out = 0, bytes_in = 0;              ///< per pass
  size_t host_bytes = 0;                           ///< page-locked memory for what is away
  size_t resident_arena_bytes = 0;                 ///< the arena if nothing is moved
  double step_seconds = 0;                         ///< of the pass without any of it
  double exposed_seconds = 0, repeat_seconds = 0;  ///< by which a pass takes longer
};

struct Plan {
  IdVector<UnitId, Unit> units;
  IdVector<ValueId, Value> values;
  IdVector<StepId, Step> steps;
  StepId backward_begin{0};                          ///< steps before are forward
  IdVector<VersionId, ValueId> data, diff;           ///< none: fused away, or no gradient
  std::vector<std::pair<ValueId, float>> constants;  ///< persistent values with a fixed content (loss weights, zeros)
  ValueId position;                ///< persistent: Pass::first_sample for kernels on a device; none where none reads it
  std::vector<PackedCopy> packed;  ///< by unit, in the order in which its kernel has booked them
  ValueId packed_memory;           ///< persistent
  std::vector<PackedGradient> packed_gradients;  ///< in the order of the steps, then as kernels have booked them
  size_t arena_bytes = 0, persistent_bytes = 0;  ///< during a pass; from pass to pass
  size_t arena_budget = 0;                       ///< bytes that the arena should have at most
  size_t unshared_bytes = 0;                     ///< every version's data and gradient in plain order, nothing shared
  Offloading offloading;

  /// Parameters in the order in which backward completes their gradients; those without one last.
  std::vector<Param*> completion;
};

}  // namespace robusta
