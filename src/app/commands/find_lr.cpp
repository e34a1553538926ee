// caffe find_lr: the training that a solver describes, with rates that grow from one iteration to the next, and without
// its tests, snapshots and logs: no file of the training is written.

#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <optional>

#include "app/commands/commands.h"
#include "app/setup/training_setup.h"
#include "base/atomic_file.h"
#include "base/log.h"
#include "base/str.h"
#include "inspect/rate_range.h"

namespace robusta {
namespace {

constexpr int kUsualTests = 100;  // iterations

int tests_wanted(const Options& options) { return options.iterations.given() ? options.iterations() : kUsualTests; }

void check_find_lr_flags(const Options& options) {
  // base_lr is a float: rates that it does not hold would be 0, or infinite.
  constexpr double kLeastRate = std::numeric_limits<float>::min(), kMostRate = std::numeric_limits<float>::max();
  const bool in_order = options.from() >= kLeastRate && options.to() > options.from() && options.to() <= kMostRate;
  if (!in_order) {
    throw Error(ErrorKind::kUsage, str("-from ", options.from(), " -to ", options.to(), " is no range of rates"),
                str("give ", kLeastRate, " <= from < to <= ", kMostRate));
  }
  constexpr int kLeast = 8;
  if (tests_wanted(options) < kLeast) {
    throw Error(ErrorKind::kUsage, str("-iterations ", options.iterations(), " are too few to tell rates apart"),
                "give at least 8, better 100");
  }
  if (!options.snapshot().empty()) {
    throw Error(ErrorKind::kUsage, "find_lr begins a training, and -snapshot goes on with one",
                "give the weights of the snapshot by -weights");
  }
  if (!options.csv().empty()) require_writable_file("the table", options.csv());
  if (!options.json().empty()) require_writable_file("the result", options.json());
}

/// Exponential rates, and nothing else beside the training itself.
void make_range_test(caffe::SolverParameter& p, const Options& options) {
  const int tests = tests_wanted(options);
  p.set_lr_policy("exp");
  p.set_base_lr(static_cast<float>(options.from()));
  p.set_gamma(static_cast<float>(std::pow(options.to() / options.from(), 1.0 / (tests - 1))));
  p.set_max_iter(tests);
  p.clear_min_lr();
  p.clear_warmup_iter();
  p.clear_rampup_interval();
  p.clear_stepvalue();
  p.clear_stagelr();
  p.clear_stageiter();
  p.set_display(0);
  p.set_debug_info(false);
  p.set_snapshot(0);
  p.set_snapshot_after_train(false);
  p.clear_test_iter();
  p.clear_test_net();
  p.clear_test_net_param();
  p.clear_test_state();
  p.clear_test_interval();
  p.clear_test_and_snapshot_last_epochs();
}

enum class Ending { kAllRates, kDiverged, kStopped };

struct RangeTest {
  std::vector<RateLoss> rates;
  Ending ending = Ending::kAllRates;
};

/// Until all rates are through, the loss has left the range of numbers that say something, or a signal or the wall time
/// stops it.
RangeTest run_range_test(Solver& solver, int tests) {
  RangeTest test;
  bool going_on = true;
  solver.on_iteration = [&](int, double loss, double rate) { going_on = add_rate(test.rates, rate, loss); };
  try {
    for (int i = 0; i < tests && going_on; ++i) {
      solver.step(1);
      if (solver.state().iter > i) continue;
      test.ending = Ending::kStopped;
      break;
    }
  } catch (const Error& error) {
    // That the loss is not finite any more is what great rates lead to.
    if (error.kind() != ErrorKind::kNumeric || test.rates.empty()) throw;
    going_on = false;
  }
  if (!going_on) test.ending = Ending::kDiverged;
  solver.on_iteration = nullptr;
  return test;
}

void write_text_to(const std::string& path, const std::string& text) {
  if (!path.empty()) write_file_atomically(path, [&](int fd) { write_all(fd, text.data(), text.size()); });
}

void print_advice(const RangeTest& test, const std::optional<RateAdvice>& advice, const Options& options) {
  std::cout << test.rates.size() << " of " << tests_wanted(options) << " rates";
  if (!test.rates.empty()) std::cout << " from " << test.rates.front().rate << " to " << test.rates.back().rate;
  if (test.ending == Ending::kDiverged) std::cout << ", then it diverged";
  if (test.ending == Ending::kStopped) std::cout << ", then it was stopped";
  std::cout << "\n";
  if (!advice) {
    std::cout << "No suggestion: "
              << (test.ending == Ending::kDiverged ? "the loss rose from the first rates on. Try a smaller -from."
                  : test.ending == Ending::kStopped
                      ? "there are too few rates, or the loss has not fallen yet."
                      : "the loss never fell. Try a wider range, more iterations, or look "
                        "at the data.")
              << std::endl;
    return;
  }
  std::cout << "The loss falls fastest at   " << advice->steepest << "\n"
            << "The loss is least at        " << advice->least << "\n";
  if (advice->up) std::cout << "The loss rises from         " << *advice->up << "\n";
  std::cout << "Suggested base_lr:          " << advice->steepest << std::endl;
}

/// Nothing is snapshot here.
Request stop_or_nothing(Request request) { return request == Request::kStop ? Request::kStop : Request::kNone; }

int find_lr(const TrainingRun& run) {
  const Options& options = run.options;
  run.ranks.together([&] { check_find_lr_flags(options); });
  TrainingSetup setup(run, "find_lr");
  std::optional<SignalWatch> signals;  // of several learners in this process one looks for them
  if (run.ranks.root() || !run.ranks.in_threads()) {
    signals.emplace(stop_or_nothing(setup.sigint()), stop_or_nothing(setup.sighup()));
    setup.solver_options().poll = [&] { return signals->poll(); };
  }
  setup.read_definition();
  make_range_test(setup.first_solver().param, options);
  setup.open_device();
  setup.solver_options().timeline = {};
  setup.solver_options().tensorboard = {};
  const std::unique_ptr<Solver> solver = setup.build_solver(0);
  if (signals) signals->training_begins();
  const RangeTest test = run_range_test(*solver, tests_wanted(options));
  run.ranks.root_only([&] {
    const std::optional<RateAdvice> advice = advice_of(test.rates);
    print_advice(test, advice, options);
    write_text_to(options.csv(), rates_as_csv(test.rates));
    write_text_to(options.json(), rates_as_json(test.rates, advice));
  });
  return 0;
}

}  // namespace

int find_lr_command(const Options& options) { return run_training_job(options, {.ddl = options.ddl()}, find_lr); }

}  // namespace robusta
