/// Turns a graph into steps and values. Internal to the planner.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "net/graph/graph.h"
#include "net/options.h"
#include "net/plan/plan.h"

namespace robusta {

class PlanBuilder {
 public:
  PlanBuilder(const Graph& graph, const NetOptions& options);

  void add_forward();
  void add_backward();
  /// Copies of parameters that are made together when a pass begins.
  void add_packed_params();
  /// Gradients that are brought into the parameters' order together. REQUIRES: all steps are there.
  void add_packed_gradients();
  /// Which step first and last contributes to each parameter's gradient.
  void mark_gradient_parts();
  Plan take() { return std::move(plan_); }

 private:
  /// The values of a unit's forward step, for its backward.
  struct UnitValues {
    std::vector<ValueId> bottoms, tops;
    ValueId saved;
  };

  void add_source(NodeId node);
  void lend_tops(Step& step);
  size_t choose_upload(SourceLayer& source, Step& step) const;
  void add_position();
  bool is_steady() const;
  bool packs_together() const;
  /// The unit that makes it, if that has a kernel; else null.
  Unit* producer_of(const BlobVersion& blob);
  void finish_bottom(UnitId unit);
  ValueId ask_for_sums(UnitId unit, const UnitValues& values);
  void book_scratch_again(StepId step);
  StepId forward_step(UnitId unit) const;
  void add_unit(NodeId node);
  UnitValues add_operands(UnitId unit);
  ValueId add_forward_memory(UnitId unit, UnitValues& values);
  bool wants_backward(const Unit& unit) const;
  UnitValues backward_values(UnitId unit);
  void add_unit_backward(UnitId unit);
  bool hands_terms_on(UnitId branch);
  bool gradient_is_seen(const BlobVersion& blob) const;
  void offer_gate(UnitId id);
  ValueId add_gradient(VersionId version, ValueId data);
  void complete_after(StepId step, std::map<Param*, StepId>& last);
  ValueId new_value(std::string label, TensorDesc desc, bool persistent);
  ValueId new_raw(std::string label, size_t bytes);
  /// How a value is stored.
  struct Form {
    Layout layout;
    DType type;
  };
  ValueId add_top(VersionId version, const Form& form, bool persistent);
  /// The value in another form: a Reorder step, shared by all forward readers of the same content.
  ValueId in_form(ValueId value, const Form& form, UnitId unit, bool backward);
  ValueId copy_of(ValueId content, const TensorDesc& wanted) const;
  ValueId add_reorder(ValueId value, const TensorDesc& to, UnitId unit, bool backward);
  /// The gradient of a top as the kernel wants it; none if it is missing and may be.
  ValueId top_gradient(VersionId version, const Form& form, UnitId unit);
  static Form bottom_form(const Unit& unit, size_t bottom);
  static Form top_form(const Unit& unit, size_t top);
  ValueId constant(std::string label, const TensorDesc& desc, float content);
  Step& push(StepKind kind, UnitId unit, bool backward);
  void touch(ValueId value, StepId step);
  /// All values of the step pushed last.
  void touch_last_step();
  bool visible(VersionId version) const;

  const Graph& graph_;
  const NetOptions& options_;
  Plan plan_;
  /// Gradients that nobody adds up before the kernel that reads them: the values of their terms.
  std::map<VersionId, std::vector<ValueId>> terms_;
  IdVector<UnitId, UnitValues> unit_values_;
  IdVector<ValueId, ValueId> content_;                  ///< per value: the value whose content it repeats
  std::vector<std::pair<ValueId, ValueId>> reordered_;  ///< (content, reordered value) of forward reorders
};

}  // namespace robusta
