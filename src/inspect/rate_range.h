/// What a range test of learning rates says: Smith 2015, "Cyclical Learning Rates for Training Neural Networks",
/// section 3.3. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace robusta {

/// The rate of an iteration and its loss.
struct RateLoss {
  double rate, loss;
  double smoothed = 0;  ///< an exponential mean of the losses so far
};

struct RateAdvice {
  double steepest = 0;       ///< where the smoothed loss falls fastest by the logarithm of the rate: what is suggested
  double least = 0;          ///< where it is least
  std::optional<double> up;  ///< where it has left its least value for good; none: it never did
};

/// Adds the next iteration; false when the smoothed loss is four times its least value, or not finite: greater rates
/// say nothing more. The first iterations never end a test.
bool add_rate(std::vector<RateLoss>& test, double rate, double loss);

/// None where the loss never fell, or the test is too short to tell.
std::optional<RateAdvice> advice_of(const std::vector<RateLoss>& test);

/// Tables for programs: "rate,loss,smoothed_loss" and a line for each iteration, and one JSON object.
std::string rates_as_csv(const std::vector<RateLoss>& test);
std::string rates_as_json(const std::vector<RateLoss>& test, const std::optional<RateAdvice>& advice);

}  // namespace robusta
