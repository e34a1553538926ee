/// Nets that say more than the schema has.
#pragma once

#include <string>
#include <utility>

#include "schema/missing_report.h"
#include "schema/source.h"

namespace robusta {

/// The error of a net with fields or values of enums that the schema lacks: all of them in one report. What the net
/// says else has been read, so that who knows more of layers can add what is missing of these.
class UnreadFields : public Error {
 public:
  UnreadFields(MissingReport report, NetDef rest)
      : Error(report.error(rest.file)), report_(std::move(report)), rest_(std::move(rest)) {}

  const MissingReport& report() const { return report_; }
  /// Brought into the newest form; without layers where that has failed.
  const NetDef& rest() const { return rest_; }

 private:
  MissingReport report_;
  NetDef rest_;
};

}  // namespace robusta
