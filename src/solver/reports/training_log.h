/// What a training says: the lines that Caffe's log parsers read, events for -log_json, the progress line.
#pragma once

#include <string>
#include <vector>

#include "base/progress_line.h"
#include "comm/all_reduce.h"
#include "net/net.h"
#include "solver/files/snapshot.h"
#include "solver/reports/json_log.h"
#include "solver/reports/speed_meter.h"
#include "solver/update/loss_scale.h"

namespace robusta {

/// All values of one output blob of a net.
struct OutputBlob {
  std::string name;
  std::vector<double> values;
  double weight = 0;  ///< in the loss, 0: none

  /// "loss", or "prob[2]" of a blob of several values.
  std::string key(size_t i) const { return values.size() == 1 ? name : name + '[' + std::to_string(i) + ']'; }
};

/// The outputs after a forward pass.
std::vector<OutputBlob> read_outputs(Net& net);

/// " (* 1 = 2.3 loss)", or "" for a value outside the loss.
std::string loss_note(double weight, double value);

class TrainingListener;

class TrainingLog {
 public:
  /// Both may be null; they outlive the log.
  TrainingLog(JsonLog* json, ProgressLine* progress) : json_(json), progress_(progress) {}

  struct Start {
    std::string net, solver_type, policy;
    uint64_t seed;
    int64_t batch;  ///< of one rank
    int ranks, iter_size, iter, max_iter;
    int64_t parameters;
    int64_t records;            ///< of the first source; 0: not known
    double rate;                ///< base_lr
    std::string settings = {};  ///< the solver's file as it was read
    int stages = 1;             ///< more: `ranks` counts pipelines of as many ranks
  };
  void start(const Start& start);

  struct Train {
    int iter, max_iter, display;
    double loss, rate;
    Speed speed;
    double seconds_left;
    int ranks;
    int slowest;               ///< rank, -1: not known
    std::string slowest_name;  ///< "3 (node2)"
    std::vector<OutputBlob> outputs;
    LossScale loss_scale;
  };
  void train(const Train& train);
  /// Redraws the progress line, ten times a second at most.
  void progress(const Train& train);
  bool wants_progress() const;

  struct Test {
    int iter, net;
    bool averaged;  ///< of the averaged weights (ema_decay): in lines that parsers of Caffe's log do not take for tests
    bool with_loss;
    double loss, seconds;
  };
  void test(const Test& test, const std::vector<OutputBlob>& means);
  /// What the reductions over ranks took since the last report.
  struct Communication {
    int iter;     ///< finished
    Speed speed;  ///< of rank 0, since then
    int buckets;
    double bytes;  ///< of all gradients
    std::vector<DimensionTime> dimensions;
    int slowest;  ///< rank
    std::string slowest_name;
    double slowest_seconds, slowest_lag;
  };
  void communication(const Communication& communication);
  /// What a stage of a pipeline over ranks has sent to others, and for how long it has waited for them.
  struct StageTraffic {
    double bytes = 0, waited = 0;  ///< seconds
  };
  /// Of one pipeline, in so many iterations.
  void stages(int iter, int iterations, const std::vector<StageTraffic>& stages);

  /// What large model support has copied between GPU and host since the last report.
  struct Copies {
    int iter;        ///< finished
    int iterations;  ///< since then
    double bytes_out, bytes_in, exposed_ms;
  };
  void copies(const Copies& copies);

  void snapshot(int iter, const SnapshotPaths& paths, double seconds);
  void snapshot_failed(int iter, const Error& error);
  void final_loss(int iter, double loss);
  void end(int iter, const std::string& reason, const Speed& total);

  /// Tells the listener, too, of all that follows; null: nobody. It outlives the log.
  void listen(TrainingListener* listener) { listener_ = listener; }

 private:
  void event(const char* name, const JsonObject& members) {
    if (json_) json_->write(name, members);
  }

  JsonLog* json_;
  ProgressLine* progress_;
  TrainingListener* listener_ = nullptr;
  mutable std::chrono::steady_clock::time_point next_draw_{};
};

/// Who is told what a training says, in numbers.
class TrainingListener {
 public:
  virtual ~TrainingListener() = default;
  virtual void start(const TrainingLog::Start& start) = 0;
  virtual void train(const TrainingLog::Train& train) = 0;
  virtual void test(const TrainingLog::Test& test, const std::vector<OutputBlob>& means) = 0;
  virtual void final_loss(int iter, double loss) = 0;
  virtual void end(int iter, const std::string& reason) = 0;
};

/// The event for an error that ends a run.
void log_error_event(JsonLog& json, const Error& error);

}  // namespace robusta
