/// What a log says of a training: curves, events, settings.
///
/// Series are called as TensorBoard's tags are (-tensorboard): "train/loss", "test/output/accuracy".
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace robusta {

/// Values by iterations, which increase: what a resumed training does again takes the place of what it did before.
struct RunSeries {
  std::vector<double> iter, value;
  std::vector<double> seconds;  ///< since the run began
};

/// The command that began a training, or went on with it.
struct RunStart {
  double iter = 0;
  std::string command, directory;  ///< "": not known
  std::string launcher = {};       ///< the command of mpirun or the like; "": there was none, or it is not known
  double ranks = 1;
};

struct RunEvent {
  std::string kind;  ///< "snapshot", "resume", "warning", "error", "end"
  double iter = 0, seconds = 0;
  std::string text;
};

struct RunLayer {
  std::string name, type;
  double forward_ms = 0, backward_ms = 0;
  double bytes = 0;  ///< of tops and parameters; 0: not known
};

/// A class is counted at [true label][prediction].
struct RunConfusion {
  std::string scores;  ///< the blob
  std::vector<std::vector<double>> counts;
};

struct RunTopLoss {
  std::string record, png;  ///< png: base64; "": none
  std::string label, prediction;
  double loss = 0;  ///< NaN: it is not finite
};

struct RunLog {
  std::string name;
  std::map<std::string, RunSeries> series;
  std::vector<RunEvent> events;
  std::vector<std::pair<std::string, std::string>> facts;  ///< settings in short
  std::vector<RunStart> starts;                            ///< how to repeat it
  std::string solver;                                      ///< its text; "": not known
  std::map<int, int> slowest;                              ///< how often a rank was the slowest one
  std::vector<RunLayer> layers;
  std::optional<RunConfusion> confusion;
  std::vector<RunTopLoss> top_losses;
  double iter = 0, max_iter = 0;  ///< of the last line; 0: not known
  bool begun = false;             ///< the log tells of its start, or of an error that ended it
  bool ended = false;
  std::optional<double> clock;  ///< seconds of the log's clock at which it began
  /// The least iteration to which the training has gone back since somebody set this; infinity: to none.
  double went_back_to = std::numeric_limits<double>::infinity();

  bool has_results() const { return !series.empty() || !layers.empty() || confusion || !top_losses.empty(); }
  /// Nothing tells of a training.
  bool empty() const { return !begun && !has_results(); }
  void add(const std::string& tag, double at, double seconds, double value);
  /// It resumes at iteration `at`: values of that and of later ones are those of a branch that was given up.
  void go_back_to(double at);
};

/// Names of the series, what a person looks at first in front: losses, scores of tests, the rate; then what there are
/// many of, single values of large blobs; speeds before these.
std::vector<std::string> tags_by_importance(const RunLog& run);

}  // namespace robusta
