// The engines that cuDNN offers for an operation, with what they take.

#include "device/cuda/dnn/engines.h"

#include <algorithm>

#include "base/str.h"

namespace robusta::dnn {
namespace {

std::vector<Descriptor> ask_heuristics(const Target& target, const Graph& graph, cudnnBackendHeurMode_t mode) {
  Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph.get());
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
  target.hand_to_heuristics(heuristics);
  std::string why_not;
  // That a mode knows nothing of a graph is an answer like any other.
  if (!heuristics.try_finalize(why_not)) return {};
  const int64_t count = heuristics.count(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR);
  return heuristics.get_objects(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, count);
}

bool allowed(const Descriptor& engine, const MathOptions& rules) {
  const auto notes =
      engine.get_all<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  return std::none_of(notes.begin(), notes.end(), [&](cudnnBackendNumericalNote_t note) {
    switch (note) {
      case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
      case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13:
        return true;
      case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:  // with f32 in memory that means TF32
        return !rules.tf32;
      case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
        return rules.deterministic;
      default:
        return false;
    }
  });
}

std::string name_of(const Descriptor& config, const Descriptor& engine) {
  std::string name = str("eng", engine.get<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
  // Asked how many choices there are, without room for them, cuDNN answers 0.
  for (const Descriptor& knob : config.get_objects(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                                                   CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_KNOB_TYPE_COUNTS)) {
    const auto type = knob.get<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE);
    name += str("_k", static_cast<int>(type), "=", knob.get<int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE));
  }
  return name;
}

}  // namespace

std::vector<Engine> find_engines(const Target& target, const Graph& graph, const MathOptions& rules, size_t most) {
  std::vector<Engine> found;
  // What cuDNN falls back to is slow, and some of it is compiled when it is planned: for shapes that nothing else
  // takes.
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    for (Descriptor& config : ask_heuristics(target, graph, mode)) {
      if (found.size() == most) break;
      const Descriptor engine = config.get_object(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
      if (!allowed(engine, rules)) continue;
      const std::string name = name_of(config, engine);
      const bool known = std::any_of(found.begin(), found.end(), [&](const Engine& e) { return e.name == name; });
      if (!known) found.push_back({std::move(config), name});
    }
    if (!found.empty()) break;
  }
  return found;
}

}  // namespace robusta::dnn
