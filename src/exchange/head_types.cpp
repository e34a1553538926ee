// A loss that is not named here has one bottom of scores and nothing inside that a model would keep.

#include "exchange/head_types.h"

#include <map>

namespace robusta {

std::optional<Head> head_of(const std::string& type, bool is_loss) {
  static const std::map<std::string, Head> heads = {
      {"SoftmaxWithLoss", {1, "Softmax"}},
      {"SoftmaxWithLossOHEM", {1, "Softmax"}},
      {"FocalLoss", {1, "Softmax"}},
      {"InfogainLoss", {1, "Softmax"}},
      {"SigmoidCrossEntropyLoss", {1, "Sigmoid"}},
      {"ContrastiveLoss", {.scores = 2}},
      {"TripletLoss", {.scores = 3}},
      {"MultiBoxLoss", {.scores = 3}},
      {"SmoothL1LossOHEM", {}},
      {"Accuracy", {}},
      {"SegAccuracy", {}},
      {"BboxAccuracy", {}},
      {"LabelsequenceAccuracy", {}},
      {"DetectionAccuracy", {}},
      {"DetectionEvaluate", {}},
      {"EvalDetection", {}},
      {"HDF5Output", {}},
  };
  if (const auto found = heads.find(type); found != heads.end()) return found->second;
  if (is_loss) return Head{};
  return std::nullopt;
}

}  // namespace robusta
