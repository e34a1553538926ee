/// What a log says of a training: curves, events, settings.
///
/// Series are called as TensorBoard's tags are (-tensorboard): "train/loss", "test/output/accuracy".
#pragma once

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
  double loss = 0;
};

struct RunLog {
  std::string name;
  std::map<std::string, RunSeries> series;
  std::vector<RunEvent> events;
  std::vector<std::pair<std::string, std::string>> facts;  ///< settings in short
  std::string command, directory, solver;                  ///< how to repeat it; "": not known
  std::map<int, int> slowest;                              ///< how often a rank was the slowest one
  std::vector<RunLayer> layers;
  std::optional<RunConfusion> confusion;
  std::vector<RunTopLoss> top_losses;
  double iter = 0, max_iter = 0;  ///< of the last line; 0: not known
  bool ended = false;

  bool empty() const { return series.empty() && layers.empty() && !confusion && top_losses.empty(); }
  void add(const std::string& tag, double at, double seconds, double value);
};

}  // namespace robusta
