/// One report of all that is wanted of a net and not there: a user who mends one place at a time would start the
/// program as often.
#pragma once

#include <string>
#include <vector>

#include "robusta/error.h"

namespace robusta {

class MissingReport {
 public:
  /// What one layer wants. Of the same cause in several layers the first is kept, and the others are counted.
  void add(Error error);
  bool empty() const { return all_.empty(); }

  /// Of one cause the error itself. Of several a line each: where, which layer, what it is and who has it, and what to
  /// do; Error{kUnsupported}, or Error{kConfig} where nobody knows one of them. There is one at least.
  Error error(const std::string& file) const;

 private:
  struct Missing {
    Error error;     ///< of the first layer that wants it
    int others = 0;  ///< more layers that do
  };
  static std::string line_of(const Missing& missing);

  std::vector<Missing> all_;
};

}  // namespace robusta
