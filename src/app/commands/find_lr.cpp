// caffe find_lr: the training that a solver describes, with rates that grow from one iteration to the next, and without
// its tests, snapshots and logs: no file of the training is written.

#include <algorithm>
#include <cmath>
#include <iostream>

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
  const bool in_order = options.from() > 0 && options.to() > options.from() && std::isfinite(options.to());
  if (!in_order) {
    throw Error(ErrorKind::kUsage, str("-from ", options.from(), " -to ", options.to(), " is no range of rates"),
                "give 0 < from < to");
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

/// Until all rates are through, or the loss has left the range of numbers that say something.
std::vector<RateLoss> run_range_test(Solver& solver, int tests) {
  std::vector<RateLoss> results;
  bool going_on = true;
  solver.on_iteration = [&](int, double loss, double rate) { going_on = add_rate(results, rate, loss); };
  try {
    for (int i = 0; i < tests && going_on; ++i) solver.step(1);
  } catch (const Error& error) {
    // That the loss is not finite any more is what great rates lead to.
    if (error.kind() != ErrorKind::kNumeric || results.empty()) throw;
  }
  solver.on_iteration = nullptr;
  return results;
}

void write_text_to(const std::string& path, const std::string& text) {
  if (!path.empty()) write_file_atomically(path, [&](int fd) { write_all(fd, text.data(), text.size()); });
}

void print_advice(const std::vector<RateLoss>& test, const std::optional<RateAdvice>& advice, const Options& options) {
  std::cout << test.size() << " of " << tests_wanted(options) << " rates from " << test.front().rate << " to "
            << test.back().rate
            << (test.size() < static_cast<size_t>(tests_wanted(options)) ? ", then it diverged" : "") << "\n";
  if (!advice) {
    std::cout << "No suggestion: the loss never fell. Try a wider range, more iterations, or look at the data."
              << std::endl;
    return;
  }
  std::cout << "The loss falls fastest at   " << advice->steepest << "\n"
            << "The loss is least at        " << advice->least << "\n";
  if (advice->up) std::cout << "The loss rises from         " << *advice->up << "\n";
  std::cout << "Suggested base_lr:          " << advice->steepest << std::endl;
}

int find_lr(const Options& options, const TrainingRun& run) {
  run.ranks.together([&] { check_find_lr_flags(options); });
  TrainingSetup setup(options, run, "find_lr");
  setup.read_definition();
  make_range_test(setup.first_solver().param, options);
  setup.open_device();
  setup.solver_options().timeline = {};
  setup.solver_options().tensorboard = {};
  const std::unique_ptr<Solver> solver = setup.build_solver(0);
  const std::vector<RateLoss> results = run_range_test(*solver, tests_wanted(options));
  run.ranks.root_only([&] {
    const std::optional<RateAdvice> advice = advice_of(results);
    print_advice(results, advice, options);
    write_text_to(options.csv(), rates_as_csv(results));
    write_text_to(options.json(), rates_as_json(results, advice));
  });
  return 0;
}

}  // namespace

int find_lr_command(const Options& options) {
  return run_training_job(options, {options.ddl(), ""}, [&](const TrainingRun& run) { return find_lr(options, run); });
}

}  // namespace robusta
