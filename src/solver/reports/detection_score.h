/// The mean average precision of what a net has found in the batches of a test: eval_type "detection" of a solver,
/// `caffe test -detection` (Intel, NVIDIA; Liu et al. 2016, "SSD: Single Shot MultiBox Detector").
///
/// All outputs of the net are the tops of DetectionEvaluate or EvalDetection layers. Over ranks the result is that of
/// one rank with all batches.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ops/average_precision.h"
#include "solver/ranks/ranks.h"
#include "solver/reports/training_log.h"

namespace robusta {

class DetectionScore {
 public:
  /// Throws Error{kConfig} where the net has another output.
  explicit DetectionScore(const Net& net);

  /// Adds what batch number `batch` has left in the outputs of that net.
  void add(Net& net, int batch);
  /// Brings the batches of all ranks together. Collective.
  void gather(Ranks& ranks);
  /// The mean over all classes, for each output. Logs `per_class` too, and the classes of which nothing was found.
  std::vector<OutputBlob> means(ApVersion version, bool per_class) const;

 private:
  struct Output {
    std::string name;
    int64_t classes;  ///< of EvalDetection; 0: DetectionEvaluate
  };
  /// Doubles alone: it goes over the ranks.
  struct Row {
    double output, batch, label, score;
    double right, wrong;
    double objects;  ///< >= 0: of a class, which the batch has so many of; all else then says nothing
  };
  struct Class {
    int64_t objects = 0;
    std::vector<Judgement> found;
  };
  void add_rows(const std::vector<float>& values, Row row);
  void add_items(const std::vector<float>& values, int64_t classes, int64_t items, Row row);
  std::map<int, Class> classes_of(size_t output) const;

  std::vector<Output> outputs_;
  std::vector<Row> rows_;  ///< of this rank until gather(), then of all
};

/// Logs, as a hint, that the net has a layer that evaluates detections, and which setting makes a score of them. False
/// where it has none.
bool hint_at_detections(const Net& net, const std::string& setting);

/// The version of that name. Throws Error{kind} of the setting `field` for an unknown one.
ApVersion require_ap_version(const std::string& name, const std::string& field, ErrorKind kind);

}  // namespace robusta
