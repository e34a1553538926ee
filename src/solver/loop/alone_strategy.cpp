// A rank alone: its own loss and votes count, and the Updater is the sink of the gradients itself.
//
// With iter_size several batches make one iteration: their gradients add up, and only the backward pass of the last one
// hands parameters over, as before it no gradient is whole.
#include "solver/loop/iteration_strategy.h"
#include "solver/update/last_update.h"

namespace robusta {
namespace {

/// Shows the updates of single parameters in the timeline.
class TimedSink : public GradientSink {
 public:
  TimedSink(TraceRecorder& recorder, GradientSink& sink) : recorder_(recorder), sink_(sink) {}
  void ready(Param& param) override {
    const DriverSpan span(&recorder_, TraceKind::kUpdate, 0, param.layer.c_str());
    sink_.ready(param);
  }
  void begins(Param& param) override { sink_.begins(param); }
  bool urgent(const Param& param) const override { return sink_.urgent(param); }

 private:
  TraceRecorder& recorder_;
  GradientSink& sink_;
};

class Alone : public IterationStrategy {
 public:
  Alone(Training& training, TrainPasses& passes, OwnVotes votes)
      : training_(training), passes_(passes), votes_(std::move(votes)) {}

  Votes run(const Iteration& iteration) override {
    const int batches = training_.param().iter_size();
    double loss = 0;
    for (int sub = 0; sub < batches; ++sub) {
      const Pass pass = passes_.pass(sub);
      loss += passes_.forward(pass);
      const bool last = sub + 1 == batches;
      // Before backward: the rate may follow from the loss, and updates begin while backward goes on.
      if (last) note_loss(loss / batches, iteration);
      backward(pass, sub > 0, last, iteration.hold);
    }
    return votes_();
  }
  void end(const Iteration&) override { finish_updates(); }
  void finish_updates() override {
    const DriverSpan span(training_.recorder, TraceKind::kUpdate, 0, "the rest");
    training_.updater.finish();
  }

 protected:
  void note_loss(double loss, const Iteration& iteration) {
    training_.state.losses.add(loss);
    begin_updates(training_, iteration.hold);
  }

  Training& training_;
  TrainPasses& passes_;
  OwnVotes votes_;

 private:
  void backward(const Pass& pass, bool accumulate, bool last, bool hold) {
    GradientSink* const sink = last ? &training_.updater : nullptr;
    if (!training_.recorder) return training_.net.backward(pass, accumulate, sink);
    TimedSink timed(*training_.recorder, training_.updater);
    training_.net.backward(pass, accumulate, last && !hold ? &timed : sink);
    training_.recorder->end_step();
  }
};

/// Updates come after all of backward, which is enqueued by then, and after the loss, which may end the training: an
/// iteration that went wrong has changed nothing. The next forward pass begins with them, in the same recording.
class AloneAhead : public Alone {
 public:
  using Alone::Alone;
  Votes run(const Iteration& iteration) override {
    // Both look at what is done step by step.
    if (iteration.debug || training_.recorder) {
      finish_updates();
      return Alone::run(iteration);
    }
    const int batches = training_.param().iter_size();
    double loss = 0;
    for (int sub = 0; sub < batches; ++sub) loss += run_ahead(sub);
    note_loss(loss / batches, iteration);
    return votes_();
  }
  void end(const Iteration& iteration) override {
    // Where layers ask for other sizes a pass may be planned again before it has begun.
    const bool may_wait = iteration.goes_on && !iteration.hold && training_.net.graph().sizers.empty();
    if (!may_wait || !training_.updater.postpone()) finish_updates();
  }

 private:
  double run_ahead(int sub) {
    Updater& updater = training_.updater;
    return completing_last_update(
        updater, [&] { return passes_.forward_and_backward_ahead(sub, sub == 0 ? updater.prelude() : nullptr); });
  }
};

}  // namespace

std::unique_ptr<IterationStrategy> make_alone_strategy(Training& training, TrainPasses& passes,
                                                       IterationStrategy::OwnVotes votes) {
  if (training.net.options().device->is_host()) return std::make_unique<Alone>(training, passes, std::move(votes));
  return std::make_unique<AloneAhead>(training, passes, std::move(votes));
}

}  // namespace robusta
