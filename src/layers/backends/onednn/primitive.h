/// A oneDNN primitive with the memory objects it works on.
///
/// The objects are made once; each run only points them at this run's tensors, so that nothing is allocated. Scratch
/// memory comes from the caller.
#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include "layers/backends/onednn/desc.h"
#include "layers/kit/scratch_plan.h"

namespace robusta::onednn {

class Step {
 public:
  using Arg = std::pair<int, Desc>;  ///< DNNL_ARG_..., format

  Step() = default;
  /// `scratchpad` as the primitive descriptor tells it, made with scratch_attr(). Throws dnnl::error where it is none.
  Step(const dnnl::primitive& primitive, const std::vector<Arg>& args, const Desc& scratchpad);

  explicit operator bool() const { return static_cast<bool>(primitive_); }
  size_t scratch_bytes() const { return scratch_bytes_; }

  /// Runs on these tensors. REQUIRES: one for each argument. Inputs are not changed.
  void run(std::initializer_list<std::pair<int, const void*>> data, void* scratch);

 private:
  void point(dnnl::memory& memory, const void* data);

  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;  ///< one per argument, pointed elsewhere in each run
  std::vector<dnnl_exec_arg_t> args_;
  size_t scratch_bytes_ = 0;
};

/// Attributes that leave the scratch memory to the caller.
dnnl::primitive_attr scratch_attr();

/// A copy from one format to another; `add`: onto what is there.
Step reorder_step(const Desc& from, const Desc& to, bool add = false);

using robusta::at_offset;
using robusta::ScratchPlan;

/// "ref" implementations are for testing oneDNN, hundreds of times slower than ours.
bool is_slow(const std::string& impl);

}  // namespace robusta::onednn
