// Solvers with extreme numbers: each number that one can be given, at the ends of its type, under each policy of the
// rate and each rule. A training with one of them either takes steps or throws an Error, and what is not finite is
// refused with its field and line. Fields are found by reflection, so that new ones are tried, too.

#include <gtest/gtest.h>

#include <cmath>

#include <cstdlib>
#include <regex>
#include <sstream>

#include "base/log.h"
#include "solver/toy_solver.h"
#include "support/files.h"
#include "support/log_lines.h"

namespace robusta::test {
namespace {

using google::protobuf::FieldDescriptor;

constexpr int kSteps = 3;

bool holds(const std::string& text, const std::string& pattern) { return std::regex_search(text, std::regex(pattern)); }

/// What each policy needs, separated by bars.
const std::map<std::string, std::string> kPolicies = {{"fixed", ""},
                                                      {"step", "gamma: 0.5|stepsize: 2"},
                                                      {"exp", "gamma: 0.5"},
                                                      {"inv", "gamma: 0.5|power: 0.5"},
                                                      {"multistep", "gamma: 0.5|stepvalue: 1"},
                                                      {"poly", "power: 0.5"},
                                                      {"sigmoid", "gamma: 0.5|stepsize: 2"},
                                                      {"plateau", "gamma: 0.5|plateau_winsize: 1"},
                                                      {"cosine", ""},
                                                      {"multifixed", "stagelr: 0.1|stageiter: 5"}};
const std::vector<std::string> kRules = {"SGD",  "Nesterov", "AdaGrad", "RMSProp", "AdaDelta",
                                         "Adam", "AdamW",    "LAMB",    "SAG"};

std::vector<std::string> extremes(const FieldDescriptor* field) {
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return {"0", "1", "-1", "1000000000", "2147483647", "-2147483648"};
    case FieldDescriptor::CPPTYPE_INT64:
      return {"0", "-1", "1099511627776", "9223372036854775807", "-9223372036854775808"};
    case FieldDescriptor::CPPTYPE_FLOAT:
      return {"0", "1", "-1", "3e38", "-3e38", "1e-45", "nan", "inf", "-inf"};
    default:
      return {};
  }
}

/// One `field: value` per line, those of `settings` (separated by bars) without the field that is tried.
std::string settings_with(const std::string& settings, const std::string& field, const std::string& value) {
  std::string text;
  std::istringstream all(settings);
  for (std::string line; std::getline(all, line, '|');) {
    if (!line.starts_with(field + ':')) text += line + "\n";
  }
  return text + field + ": " + value + "\n";
}

/// The cause of the Error, or "". Snapshots go with the folder.
std::string train(const std::string& settings, const std::string& field, const std::string& value) {
  const QuietLog quiet;
  const TempDir folder;
  try {
    const std::string text = settings_with(settings, field, value) + kToyNet;
    Solver solver(parse_solver(text, folder / "extreme.prototxt"), {});
    const bool endless = field == "iter_size" && value.size() > 2;
    if (!endless) solver.step(kSteps);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

void try_all(const std::string& settings) {
  const auto* message = caffe::SolverParameter::descriptor();
  for (int i = 0; i < message->field_count(); ++i) {
    const FieldDescriptor* field = message->field(i);
    for (const std::string& value : extremes(field)) {
      const std::string what = field->name() + ": " + value;
      SCOPED_TRACE(settings + ' ' + what);
      const std::string said = train(settings, field->name(), value);
      if (std::isfinite(std::strtod(value.c_str(), nullptr))) continue;
      EXPECT_TRUE(holds(said, "extreme\\.prototxt:\\d+: " + field->name() + " is -?(nan|inf); give a finite number"))
          << said;
    }
  }
}

std::string common(const std::string& policy, const std::string& rule) {
  const std::string momentum = rule == "AdaGrad" || rule == "RMSProp" ? "" : "|momentum: 0.5";
  return "base_lr: 0.02|lr_policy: '" + policy + "'|random_seed: 3|max_iter: 4|type: '" + rule + "'" + momentum + "|" +
         kPolicies.at(policy);
}

TEST(ExtremeSettings, UnderEachPolicy) {
  for (const auto& [policy, needs] : kPolicies) {
    EXPECT_EQ(train(common(policy, "SGD"), "display", "0"), "") << policy;
    try_all(common(policy, "SGD"));
  }
}

TEST(ExtremeSettings, OfEachRule) {
  for (const std::string& rule : kRules) {
    EXPECT_EQ(train(common("fixed", rule), "display", "0"), "") << rule;
    try_all(common("fixed", rule));
  }
}

TEST(ExtremeSettings, IterationsBeforeTheFirstAreRefused) {
  for (const std::string field : {"warmup_iter", "rampup_interval", "stepvalue", "stageiter"}) {
    const std::string said = train(common("fixed", "SGD"), field, "-1");
    EXPECT_TRUE(holds(said, "extreme\\.prototxt:\\d+: " + field + " is -1; give ")) << said;
  }
}

TEST(ExtremeSettings, WhatHardlyAnybodyMeansIsWarnedOf) {
  for (const std::string setting :
       {"momentum: -1", "momentum: 1", "momentum2: 1", "weight_decay: -1", "delta: -1", "base_lr: -1"}) {
    const LogLines log;
    const std::string field = setting.substr(0, setting.find(':'));
    Solver(parse_solver(settings_with(common("fixed", "SGD"), field, setting.substr(setting.find(' ') + 1)) + kToyNet,
                        "extreme.prototxt"),
           {});
    EXPECT_TRUE(holds(log.text(), "extreme\\.prototxt:\\d+: " + field + " is -?1: ")) << setting;
  }
}

}  // namespace
}  // namespace robusta::test
