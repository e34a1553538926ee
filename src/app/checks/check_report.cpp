// A check that fails on one rank fails on all, by Ranks::together, so that every rank goes on with the same next check.

#include "app/checks/check_report.h"

#include <iomanip>

#include "base/str.h"

namespace robusta {

bool CheckReport::run(const std::string& topic, const std::function<std::string()>& check) {
  ranks_.doing("the check of " + topic, Activity::kPausing, 60);
  std::string text;
  int code = 0;
  try {
    text = check();
  } catch (const EndedByPeer& peer) {
    code = peer.exit_code();
    text = peer.reason();
  } catch (const Error& error) {
    // The others do not know of it and are in the midst of the check: the job ends.
    if (!ranks_.alone() && !ranks_.failed_together()) throw;
    code = error.exit_code();
    text = error.what();
  }
  ranks_.recover();
  line(code == 0 ? "ok" : "FAILED", topic, text);
  if (code == 0) return true;
  ++failures_;
  if (code_ == 0) {
    code_ = code;
    first_failure_ = topic + ": " + text;
  }
  return false;
}

void CheckReport::warn(const HostWarning& warning) {
  ++warnings_;
  line("WARNING", warning.topic, warning.text + "; " + warning.fix);
}

void CheckReport::line(const char* mark, const std::string& topic, const std::string& text) {
  if (!ranks_.root()) return;
  out_ << std::left << std::setw(9) << mark << std::setw(15) << topic << text << std::endl;
}

int CheckReport::finish() {
  if (!ranks_.root()) return code_;
  if (failures_ == 0) {
    out_ << "Training can start" << (warnings_ > 0 ? str("; ", counted(warnings_, "warning")) : "") << '.' << std::endl;
  } else {
    out_ << counted(failures_, "check") << " failed: exit code " << code_ << '.' << std::endl;
  }
  return code_;
}

}  // namespace robusta
