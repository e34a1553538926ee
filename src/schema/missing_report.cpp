// Causes are compared as texts: layers of one type, or with one field, have the same.

#include "schema/missing_report.h"

#include <algorithm>
#include <utility>

#include "base/str.h"

namespace robusta {

void MissingReport::add(Error error) {
  const auto same =
      std::ranges::find_if(all_, [&](const Missing& known) { return known.error.cause() == error.cause(); });
  if (same == all_.end()) {
    all_.push_back({std::move(error)});
  } else {
    ++same->others;
  }
}

std::string MissingReport::line_of(const Missing& missing) {
  const Error& error = missing.error;
  const std::string others = missing.others == 0   ? ""
                             : missing.others == 1 ? " (and of 1 more layer)"
                                                   : str(" (and of ", missing.others, " more layers)");
  const std::string layer = error.layer().empty() ? others : str(" layer \"", error.layer(), "\"", others, ":");
  constexpr size_t kMostAdvice = 250;  // a list of all types, as an unknown one has it, would bury the other lines
  const bool advises = !error.fix().empty() && error.fix().size() <= kMostAdvice;
  return str("\n  ", error.location(), ":", layer, " ", error.cause(), advises ? "; " : "", advises ? error.fix() : "");
}

Error MissingReport::error(const std::string& file) const {
  if (all_.size() == 1) return all_[0].error;
  std::string lines;
  for (const Missing& missing : all_) lines += line_of(missing);
  const bool unknown =
      std::ranges::any_of(all_, [](const Missing& missing) { return missing.error.kind() == ErrorKind::kConfig; });
  Error error(unknown ? ErrorKind::kConfig : ErrorKind::kUnsupported,
              str(all_.size(), " things that this net wants are missing:", lines, "\n"),
              "docs/compatibility.md lists what there is");
  error.at(file);
  return error;
}

}  // namespace robusta
