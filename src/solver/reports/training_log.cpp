// Lines for people and log parsers keep the words of Caffe; what Caffe does not say has lines of its own.
#include "solver/reports/training_log.h"

#include <cstdio>

#include "base/clock_text.h"
#include "base/counted.h"
#include "base/log.h"
#include "base/own_command.h"
#include "base/percent.h"
#include "base/str.h"
#include "base/version.h"

namespace robusta {
namespace {

/// "812 img/s, ETA 00:01:23, data wait 1.2 %", of several ranks also ", comm 3.1 %, slowest rank 3 (node2)"
std::string speed_text(const TrainingLog::Train& t) {
  char rate[32];
  const double images = t.speed.samples_per_second();
  std::snprintf(rate, sizeof rate, images < 100 ? "%.3g" : "%.0f", images);
  std::string text =
      str(rate, " img/s, ETA ", clock_text(t.seconds_left), ", data wait ", percent(t.speed.waited_share()));
  if (t.ranks > 1) text += ", comm " + percent(t.speed.exposed_share());
  if (t.slowest >= 0) text += ", slowest rank " + t.slowest_name;
  return text;
}

/// {"loss": 2.3} with "name[i]" for blobs of more than one value.
JsonObject outputs_object(const std::vector<OutputBlob>& outputs) {
  JsonObject object;
  for (const OutputBlob& blob : outputs) {
    for (size_t i = 0; i < blob.values.size(); ++i) object.add(blob.key(i), blob.values[i]);
  }
  return object;
}

void log_outputs(const char* phase, const std::vector<OutputBlob>& outputs) {
  int number = 0;
  for (const OutputBlob& blob : outputs) {
    for (const double value : blob.values) {
      LOG_INFO << "    " << phase << " net output #" << number++ << ": " << blob.name << " = " << value
               << loss_note(blob.weight, value);
    }
  }
}

JsonObject train_object(const TrainingLog::Train& t) {
  JsonObject object;
  object.add("iter", t.iter)
      .add("loss", t.loss)
      .add("lr", t.rate)
      .add("iter_per_s", t.speed.iterations_per_second())
      .add("img_per_s", t.speed.samples_per_second())
      .add("data_wait", t.speed.waited_share());
  if (t.ranks > 1) object.add("comm", t.speed.exposed_share());
  if (t.slowest >= 0) object.add("slowest_rank", t.slowest);
  if (t.loss_scale.active()) {
    object.add("loss_scale", t.loss_scale.value).add("skipped_steps", t.loss_scale.skipped);
  }
  return object.add("eta_s", t.seconds_left).add("outputs", outputs_object(t.outputs));
}

}  // namespace

std::vector<OutputBlob> read_outputs(Net& net) {
  std::vector<OutputBlob> outputs;
  for (const std::string& name : net.blobs().outputs()) {
    // Not of one size in all passes and ranks, over which outputs are averaged.
    if (net.graph().versions[net.graph().find(name)].varies) continue;
    const std::vector<float> values = net.blobs().read(name);
    outputs.push_back({name, {values.begin(), values.end()}, net.blobs().loss_weight(name)});
  }
  return outputs;
}

std::string loss_note(double weight, double value) {
  return weight != 0 ? str(" (* ", weight, " = ", weight * value, " loss)") : "";
}

void TrainingLog::start(const Start& s) {
  const int64_t global = s.batch * s.ranks * s.iter_size;
  const double epoch = static_cast<double>(s.records) / static_cast<double>(global);
  const std::string learners =
      s.stages > 1 ? str(counted(s.ranks, "pipeline"), " of ", s.stages, " ranks") : counted(s.ranks, "rank");
  LOG_INFO << "Global batch " << global << " = " << learners << " x batch " << s.batch << " x iter_size " << s.iter_size
           << (s.records > 0 ? str(", an epoch is ", epoch, " iterations") : "") << ", base_lr " << s.rate;
  LOG_INFO << s.parameters << " learnable parameters, random_seed " << s.seed;
  LOG_INFO << "Solving " << s.net;
  LOG_INFO << "Learning Rate Policy: " << s.policy;
  JsonObject start;
  if (s.stages > 1) start.add("stages", s.stages);
  if (const std::string launcher = launcher_command(); !launcher.empty()) start.add("launcher", launcher);
  event("start", start.add("version", kVersion)
                     .add("net", s.net)
                     .add("type", s.solver_type)
                     .add("lr_policy", s.policy)
                     .add("random_seed", s.seed)
                     .add("batch", s.batch)
                     .add("ranks", s.ranks)
                     .add("iter_size", s.iter_size)
                     .add("iter", s.iter)
                     .add("max_iter", s.max_iter)
                     .add("parameters", s.parameters)
                     .add("base_lr", s.rate)
                     .add("command", own_command())
                     .add("directory", own_directory())
                     .add("solver", s.settings));
  if (listener_) listener_->start(s);
}

/// The words, the four blanks and the six digits are Caffe's: BVLC's tools/extra/parse_log.py and its like read them.
void TrainingLog::train(const Train& t) {
  LOG_INFO << "Iteration " << t.iter << " (" << t.speed.iterations_per_second() << " iter/s, " << t.speed.seconds
           << "s/" << t.display << " iters), loss = " << t.loss;
  log_outputs("Train", t.outputs);
  LOG_INFO << "Iteration " << t.iter << ", lr = " << t.rate;
  if (!progress_ || !progress_->active()) LOG_INFO << "    Speed: " << speed_text(t);
  if (t.loss_scale.active()) {
    LOG_INFO << "    Loss scale: " << t.loss_scale.value << ", skipped steps: " << t.loss_scale.skipped;
  }
  event("train", train_object(t));
  if (listener_) listener_->train(t);
}

bool TrainingLog::wants_progress() const {
  if (!progress_ || !progress_->active()) return false;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_draw_) return false;
  // Nobody reads faster, and every drawing is a write to a terminal.
  next_draw_ = now + std::chrono::milliseconds(100);
  return true;
}

void TrainingLog::progress(const Train& t) {
  const double done = t.max_iter > 0 ? static_cast<double>(t.iter) / t.max_iter : 0;
  progress_->show(str("iteration ", t.iter, "/", t.max_iter, " (", percent(done), "), loss ", t.loss, ", lr ", t.rate,
                      ", ", speed_text(t)));
}

void TrainingLog::test(const Test& t, const std::vector<OutputBlob>& means) {
  if (t.with_loss) LOG_INFO << (t.averaged ? "Averaged test loss: " : "Test loss: ") << t.loss;
  log_outputs(t.averaged ? "Averaged test" : "Test", means);
  JsonObject object;
  object.add("iter", t.iter).add("net", t.net);
  if (t.with_loss) object.add("loss", t.loss);
  event(t.averaged ? "averaged_test" : "test", object.add("seconds", t.seconds).add("outputs", outputs_object(means)));
  if (listener_) listener_->test(t, means);
}

void TrainingLog::copies(const Copies& c) {
  char text[160];
  std::snprintf(text, sizeof text, "%.4g MB out, %.4g MB in per iteration, exposed %.3g ms",
                c.bytes_out / 1e6 / c.iterations, c.bytes_in / 1e6 / c.iterations, c.exposed_ms / c.iterations);
  LOG_INFO << "Iteration " << c.iter << ", large model support of " << c.iterations << " iterations: " << text;
  event("lms", JsonObject()
                   .add("iter", c.iter)
                   .add("iterations", c.iterations)
                   .add("bytes_out", c.bytes_out)
                   .add("bytes_in", c.bytes_in)
                   .add("exposed_ms", c.exposed_ms));
}

void TrainingLog::snapshot(int iter, const SnapshotPaths& paths, double seconds) {
  JsonObject object;
  object.add("iter", iter).add("model", paths.model).add("state", paths.state);
  if (!paths.averaged.empty()) object.add("averaged", paths.averaged);
  event("snapshot", object.add("seconds", seconds));
}

void TrainingLog::snapshot_failed(int iter, const Error& error) {
  LOG_ERROR << "Snapshot at iteration " << iter << " failed: " << error.what()
            << ". Training goes on; older snapshots are as they were, and the next one is tried as usual";
  event("snapshot_failed", JsonObject().add("iter", iter).add("message", error.what()));
}

void TrainingLog::final_loss(int iter, double loss) {
  LOG_INFO << "Iteration " << iter << ", loss = " << loss;
  event("final", JsonObject().add("iter", iter).add("loss", loss));
  if (listener_) listener_->final_loss(iter, loss);
}

void TrainingLog::end(int iter, const std::string& reason, const Speed& total) {
  event("end", JsonObject()
                   .add("iter", iter)
                   .add("reason", reason)
                   .add("train_seconds", total.seconds)
                   .add("img_per_s", total.samples_per_second())
                   .add("data_wait", total.waited_share()));
  if (listener_) listener_->end(iter, reason);
}

void log_error_event(JsonLog& json, const Error& error) {
  json.write("error", JsonObject().add("exit_code", error.exit_code()).add("message", error.what()));
}

}  // namespace robusta
