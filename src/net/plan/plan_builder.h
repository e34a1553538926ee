/// Turns a graph into steps and values. Internal to the planner.
#pragma once

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
  /// Which step first and last contributes to each parameter's gradient.
  void mark_gradient_parts();
  Plan take() { return std::move(plan_); }

 private:
  /// The values of a unit's forward step, for its backward.
  struct UnitValues {
    std::vector<int> bottoms, tops;
    int saved = -1;
  };

  void add_source(int node);
  size_t choose_upload(SourceLayer& source, Step& step) const;
  void add_position();
  void add_unit(int node);
  void add_unit_backward(int unit);
  int new_value(std::string label, TensorDesc desc, bool persistent);
  int new_raw(std::string label, size_t bytes);
  /// How a value is stored.
  struct Form {
    Layout layout;
    DType type;
  };
  int add_top(int version, const Form& form, bool persistent);
  /// The value in another form: a Reorder step, shared by all forward readers of the same content.
  int in_form(int value, const Form& form, int unit, bool backward);
  /// The gradient of a top as the kernel wants it; -1 if it is missing and may be.
  int top_gradient(int version, const Form& form, int unit);
  static Form bottom_form(const Unit& unit, size_t bottom);
  static Form top_form(const Unit& unit, size_t top);
  int constant(std::string label, const TensorDesc& desc, float content);
  Step& push(StepKind kind, int unit, bool backward);
  void touch(int value, int step);
  void touch(const std::vector<int>& values, int step);
  bool visible(int version) const;

  const Graph& graph_;
  const NetOptions& options_;
  Plan plan_;
  std::vector<UnitValues> unit_values_;
  std::vector<int> content_;                    ///< per value: the value whose content it repeats
  std::vector<std::pair<int, int>> reordered_;  ///< (content, reordered value) of forward reorders
};

}  // namespace robusta
