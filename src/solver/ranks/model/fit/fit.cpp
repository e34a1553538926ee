// Greedy, as in list scheduling: with a few layers that may be cut at all nothing is gained by trying all combinations.
#include "solver/ranks/model/fit/fit.h"

#include <algorithm>
#include <cstdio>

#include "base/bytes.h"
#include "base/str.h"

namespace robusta {
namespace {

constexpr double kWorth = 0.05;

/// Gradients on their way: one thread sums them, bucket after bucket.
class Sums {
 public:
  explicit Sums(const FitProblem& problem) : problem_(problem) {}

  /// Those of a layer are complete. A part is a bucket by itself.
  void ready(const FitOption& option, double now) {
    if (option.parts > 1) {
      close(now);
      run(problem_.links.same_part.at(option.parts).of(option.gradients), now);
      return;
    }
    open_ += option.gradients;
    if (open_ >= problem_.bucket) close(now);
  }
  /// When all are summed.
  double end(double now) {
    close(now);
    return std::max(now, free_);
  }

 private:
  void close(double now) {
    run(problem_.links.all.of(open_), now);
    open_ = 0;
  }
  void run(double seconds, double now) {
    if (seconds > 0) free_ = std::max(free_, now) + seconds;
  }

  const FitProblem& problem_;
  double open_ = 0;  ///< bytes of the bucket that takes more
  double free_ = 0;  ///< from when on the thread has nothing to do
};

double exchange_forward(const FitProblem& problem, const FitOption& option) {
  if (option.parts == 1) return 0;
  const LinkTime& link = problem.links.all_parts.at(option.parts);
  return link.of(option.x) + link.of(option.y);
}

double exchange_backward(const FitProblem& problem, const FitOption& option) {
  if (option.parts == 1) return 0;
  const LinkTime& link = problem.links.all_parts.at(option.parts);
  return (option.back ? link.of(option.y) : 0) + (option.wants_x ? link.of(option.x) : 0);
}

/// What the layer alone takes of an iteration, but for computing that is the same in any parts: nothing is hidden.
double seconds_alone(const FitProblem& problem, const FitOption& option) {
  const LinkTime& sum = option.parts == 1 ? problem.links.all : problem.links.same_part.at(option.parts);
  return problem.passes * (option.forward + option.backward + exchange_forward(problem, option) +
                           exchange_backward(problem, option)) +
         sum.of(option.gradients) + option.update;
}

double bytes_alone(const FitProblem& problem, const FitOption& option) {
  return problem.passes * option.sent_in_pass + option.sent_in_sum;
}

std::string time_text(double seconds) {
  char text[32];
  if (seconds < 1) {
    std::snprintf(text, sizeof text, "%.3g ms", 1e3 * seconds);
  } else {
    std::snprintf(text, sizeof text, "%.3g s", seconds);
  }
  return text;
}

std::string row(const std::string& name, const std::string& parts, const std::string& bytes, const std::string& cut,
                const std::string& time, const std::string& time_cut, const std::string& chosen) {
  char text[256];
  std::snprintf(text, sizeof text, "  %-20s %5s  %12s %12s  %12s %12s  %s", name.c_str(), parts.c_str(), bytes.c_str(),
                cut.c_str(), time.c_str(), time_cut.c_str(), chosen.c_str());
  return text;
}

/// The one to show beside the first: what is taken, or else the best one alone.
size_t shown_option(const FitProblem& problem, const FitLayer& layer, size_t chosen) {
  if (chosen > 0) return chosen;
  size_t best = 1;
  for (size_t o = 2; o < layer.options.size(); ++o) {
    if (seconds_alone(problem, layer.options[o]) < seconds_alone(problem, layer.options[best])) best = o;
  }
  return best;
}

}  // namespace

FitLinks even_links(int ranks, double bytes_per_second, double seconds) {
  const auto sum = [&](int members) {
    const double share = static_cast<double>(members - 1) / members;
    return members == 1 ? LinkTime() : LinkTime{2 * seconds, 2 * share / bytes_per_second};
  };
  FitLinks links{.all = sum(ranks)};
  for (int parts = 2; parts <= ranks; ++parts) {
    if (ranks % parts != 0) continue;
    links.all_parts[parts] = {seconds, (parts - 1) / bytes_per_second};
    links.same_part[parts] = sum(ranks / parts);
  }
  return links;
}

double iteration_seconds(const FitProblem& problem, const FitChoice& choice) {
  double now = 0, update = 0;
  Sums sums(problem);
  for (int pass = 1; pass <= problem.passes; ++pass) {
    for (size_t i = 0; i < problem.layers.size(); ++i) {
      const FitOption& option = problem.layers[i].options[choice[i]];
      now += option.forward + exchange_forward(problem, option);
    }
    for (size_t i = problem.layers.size(); i-- > 0;) {
      const FitOption& option = problem.layers[i].options[choice[i]];
      now += option.backward + exchange_backward(problem, option);
      if (pass == problem.passes) sums.ready(option, now);
    }
  }
  for (size_t i = 0; i < problem.layers.size(); ++i) update += problem.layers[i].options[choice[i]].update;
  return sums.end(now) + update;
}

FitChoice fit(const FitProblem& problem) {
  FitChoice choice(problem.layers.size(), 0);
  const double whole = iteration_seconds(problem, choice);
  for (double best = whole;;) {
    FitChoice next = choice;
    double least = best;
    for (size_t i = 0; i < choice.size(); ++i) {
      FitChoice tried = choice;
      for (tried[i] = 0; tried[i] < problem.layers[i].options.size(); ++tried[i]) {
        const double seconds = iteration_seconds(problem, tried);
        if (seconds < least) least = seconds, next = tried;
      }
    }
    if (best - least < kWorth * whole) return choice;
    best = least;
    choice = next;
  }
}

std::vector<std::string> describe_fit(const FitProblem& problem, const FitChoice& choice) {
  std::vector<std::string> lines{row("layer", "parts", "sent whole", "sent cut", "time whole", "time cut", "chosen")};
  for (size_t i = 0; i < problem.layers.size(); ++i) {
    const FitLayer& layer = problem.layers[i];
    if (layer.options.size() < 2) continue;
    const FitOption &whole = layer.options[0], &cut = layer.options[shown_option(problem, layer, choice[i])];
    lines.push_back(row(layer.name, str(cut.parts), bytes_text(bytes_alone(problem, whole)),
                        bytes_text(bytes_alone(problem, cut)), time_text(seconds_alone(problem, whole)),
                        time_text(seconds_alone(problem, cut)),
                        choice[i] > 0 ? str(cut.parts, " parts") : std::string("data parallel")));
  }
  const FitChoice none(choice.size(), 0);
  lines.push_back(str("An iteration is foretold to take ", time_text(iteration_seconds(problem, choice)),
                      ", without these cuts ", time_text(iteration_seconds(problem, none))));
  return lines;
}

}  // namespace robusta
