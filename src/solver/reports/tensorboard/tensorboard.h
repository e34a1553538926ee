/// A training as TensorBoard shows it (-tensorboard DIR): scalars, histograms of parameters, settings, the net.
///
/// The scalars are the numbers of the events that -log_json gets, at the same iterations. Rank 0 has one of these; the
/// others only hold their updates in the iterations of the histograms. One thread, that which drives the net.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "net/net.h"
#include "schema/source.h"
#include "solver/reports/training_log.h"

namespace robusta {

class EventFile;
namespace tensorboard {
class Summary;
}

struct TensorBoardOptions {
  std::string folder;  ///< "": nothing is written
  int histograms = 0;  ///< iterations from one look at the parameters to the next; 0: none
  /// Whether iteration `iter` looks at the parameters, on whatever rank.
  bool looks_at(int iter) const { return histograms > 0 && iter % histograms == 0; }
};

class TensorBoard : public TrainingListener {
 public:
  /// Makes the folder of this run in options.folder. Keeps the net by reference. Throws Error{kOutput}.
  TensorBoard(const TensorBoardOptions& options, const SolverDef& def, Net& net);
  /// A training that has not ended has failed.
  ~TensorBoard() override;

  void start(const TrainingLog::Start& start) override;
  void train(const TrainingLog::Train& train) override;
  void test(const TrainingLog::Test& test, const std::vector<OutputBlob>& means) override;
  void final_loss(int iter, double loss) override;
  void end(int iter, const std::string& reason) override;

  /// Histograms of weights and gradients, before the updates of iteration `iter`. `scale`: by which gradients become
  /// those of the mean loss.
  void before_updates(int iter, double scale);
  /// What the updates have changed: REQUIRES: before_updates() of this iteration.
  void after_updates(int iter);

 private:
  void write(int step, const tensorboard::Summary& summary);

  const caffe::SolverParameter settings_;
  Net& net_;
  std::unique_ptr<EventFile> file_;
  bool is_going_on_ = false;                ///< it has started, and not ended
  int latest_ = 0;                          ///< iteration
  std::vector<std::vector<float>> before_;  ///< weights, while updates are made
};

}  // namespace robusta
