// The host waits for each pass to end: only then others may read what it has sent, and what a stage waits for is told
// apart from what it computes.
#include "solver/pipeline/stage_net.h"

#include <chrono>
#include <optional>

namespace robusta {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

template <typename Port>
void StageNet::await(std::vector<Port>& ports) const {
  if (ports.empty()) return;
  std::optional<Ranks::Waiting> waiting;
  if (ranks_) waiting.emplace(*ranks_);
  for (Port& port : ports) port.await();
}

template <typename Work>
void StageNet::run(Ports& ports, StageTimes& times, const Work& work) {
  const double begin = now();
  await(ports.in);
  const double there = now();
  for (Inlet& inlet : ports.in) inlet.enqueue();
  work();
  if (!ports.out.empty()) net_->stream().synchronize();
  const double done = now();
  await(ports.out);
  const double room = now();
  for (Outlet& outlet : ports.out) outlet.enqueue();
  net_->stream().synchronize();
  for (Inlet& inlet : ports.in) inlet.done();
  for (Outlet& outlet : ports.out) outlet.done();
  const double waited = (there - begin) + (room - done);
  times.waiting += waited;
  times.working += now() - begin - waited;
}

double StageNet::forward(const Pass& pass, StageTimes& times) {
  double loss = 0;
  run(forward_, times, [&] { loss = net_->forward(pass); });
  return loss;
}

void StageNet::backward(const Pass& pass, bool accumulate, StageTimes& times, GradientSink* sink) {
  run(backward_, times, [&] { net_->backward(pass, accumulate, sink); });
}

}  // namespace robusta
