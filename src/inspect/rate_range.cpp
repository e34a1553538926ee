// Losses of single batches are noisy: all is read off their exponential mean, and slopes are differences over several
// iterations.

#include "inspect/rate_range.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "solver/reports/json_log.h"

namespace robusta {
namespace {

constexpr double kMemory = 0.9;       // of the exponential mean: ten iterations
constexpr size_t kAlwaysRun = 10;     // iterations: until then the mean knows little
constexpr double kDiverged = 4;       // times the least loss, as fastai stops
constexpr size_t kShortest = 8;       // iterations that can be judged
constexpr double kUpFromLeast = 1.1;  // times the least loss

/// In double the mean without its start would be a loss by itself (Kingma and Ba 2015, section 3).
double next_mean(const std::vector<RateLoss>& test, double loss) {
  if (test.empty()) return loss;
  const double before = 1 - std::pow(kMemory, static_cast<double>(test.size()));
  const double now = 1 - std::pow(kMemory, static_cast<double>(test.size() + 1));
  return (kMemory * before * test.back().smoothed + (1 - kMemory) * loss) / now;
}

auto by_smoothed(const RateLoss& a, const RateLoss& b) { return a.smoothed < b.smoothed; }

}  // namespace

bool add_rate(std::vector<RateLoss>& test, double rate, double loss) {
  if (!std::isfinite(loss)) return false;
  test.push_back({rate, loss, next_mean(test, loss)});
  const double least = std::min_element(test.begin(), test.end(), by_smoothed)->smoothed;
  return test.size() <= kAlwaysRun || test.back().smoothed <= kDiverged * std::abs(least);
}

std::optional<RateAdvice> advice_of(const std::vector<RateLoss>& test) {
  if (test.size() < kShortest) return std::nullopt;
  const auto least = std::min_element(test.begin(), test.end(), by_smoothed);
  const auto last = static_cast<size_t>(least - test.begin());
  const size_t reach = std::max<size_t>(1, test.size() / 20);  // on either side
  RateAdvice advice;
  double steepest = 0;
  for (size_t i = reach; i + reach < test.size() && i <= last; ++i) {
    const RateLoss &before = test[i - reach], &after = test[i + reach];
    const double slope = (after.smoothed - before.smoothed) / std::log(after.rate / before.rate);
    if (slope >= steepest) continue;
    steepest = slope;
    advice.steepest = test[i].rate;
  }
  if (steepest == 0) return std::nullopt;
  advice.least = least->rate;
  if (test.back().smoothed > kUpFromLeast * least->smoothed) {
    size_t up = test.size() - 1;
    while (up > last && test[up - 1].smoothed > kUpFromLeast * least->smoothed) --up;
    advice.up = test[up].rate;
  }
  return advice;
}

std::string rates_as_csv(const std::vector<RateLoss>& test) {
  std::string text = "rate,loss,smoothed_loss\n";
  for (const RateLoss& row : test) {
    char line[120];
    std::snprintf(line, sizeof line, "%.9g,%.9g,%.9g\n", row.rate, row.loss, row.smoothed);
    text += line;
  }
  return text;
}

std::string rates_as_json(const std::vector<RateLoss>& test, const std::optional<RateAdvice>& advice) {
  std::string rows = "[";
  for (const RateLoss& row : test) {
    if (rows.size() > 1) rows += ", ";
    rows += JsonObject().add("rate", row.rate).add("loss", row.loss).add("smoothed_loss", row.smoothed).text();
  }
  JsonObject object;
  if (advice) {
    object.add("suggestion", advice->steepest).add("least_loss_at", advice->least);
    if (advice->up) object.add("rises_at", *advice->up);
  } else {
    object.add_raw("suggestion", "null");
  }
  return object.add_raw("iterations", rows + "]").text() + "\n";
}

}  // namespace robusta
