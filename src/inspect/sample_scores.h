/// What a classifier makes of each sample of a test: the confusion matrix, and the samples of the greatest loss
/// (`caffe test -confusion -top_losses N`).
///
/// Scores and labels are those of the net's first layer that compares them, a loss before an accuracy. A sample's loss
/// is -log of the probability of its label, the mean over its positions where it has several (pixels); scores that do
/// not come from a Softmax layer are made probabilities first. A record counts once, however often it comes. Over ranks
/// the result is that of one rank with all batches.
#pragma once

#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "net/net.h"
#include "solver/ranks/ranks.h"
#include "solver/reports/json_log.h"

namespace robusta {

struct ScoredSample {
  double loss = 0;
  uint64_t position = 0;          ///< in the test, from 0
  std::string record;             ///< "00000012_cat.jpg in train_lmdb"; "": the source does not tell
  int label = 0, prediction = 0;  ///< prediction -1: the scores are not numbers
  std::string png;                ///< base64 of a small picture of what the net was given; "": it is none
};

class SampleScores {
 public:
  static constexpr int64_t kMostClasses = 2000;  // a matrix of more nobody reads

  /// `top`: how many samples are kept. Throws Error{kConfig} where the net compares no scores with labels, or has more
  /// classes than kMostClasses. REQUIRES: NetOptions::keep_blobs.
  SampleScores(const Net& net, int top);

  /// What the net has made of this pass. Throws Error{kData} for a label that is none of the classes.
  void add(Net& net, const Pass& pass);
  /// Brings those of all ranks together, on every rank. Collective.
  void gather(Ranks& ranks);

  /// [label * classes + prediction].
  const std::vector<double>& counts() const { return counts_; }
  int64_t classes() const { return classes_; }
  /// The greatest loss first.
  const std::vector<ScoredSample>& top() const { return top_; }
  const std::string& scores() const { return scores_; }
  /// Samples of records that had come before, which are left out: a test of more samples than there are records.
  int64_t repeated() const { return static_cast<int64_t>(left_out_[kRepeated]); }
  /// Labels whose scores are not numbers, which the matrix leaves out.
  int64_t undecided() const { return static_cast<int64_t>(left_out_[kUndecided]); }

 private:
  void find_pictures(const Graph& graph);
  ScoredSample score(const std::vector<float>& scores, const std::vector<float>& labels, int64_t sample);
  void keep(std::vector<ScoredSample> samples);

  std::string scores_, labels_, pictures_;  ///< blobs; pictures_: "": the net has none
  bool probabilities_ = false;
  int64_t classes_ = 0, samples_ = 0, inner_ = 1;  ///< of the scores: [samples, classes, inner]
  std::optional<int> ignored_;
  NodeId source_{};
  size_t most_;
  uint64_t records_ = 0;  ///< of the source; 0: it has no end
  std::vector<double> counts_;
  enum LeftOut { kRepeated, kUndecided, kReasons };
  std::vector<double> left_out_ = std::vector<double>(kReasons);  ///< how many, by the reason
  std::vector<ScoredSample> top_;
};

/// A table of the matrix, or for many classes of the pairs that are confused most, and the recall of each class.
void print_confusion(std::ostream& out, const SampleScores& scores);
/// A line where samples came more than once.
void print_left_out(std::ostream& out, const SampleScores& scores);
void print_top_losses(std::ostream& out, const SampleScores& scores);
/// The same as events.
void write_confusion(JsonLog& json, const SampleScores& scores);
void write_top_losses(JsonLog& json, const SampleScores& scores);

}  // namespace robusta
