/// Those who have called at this process, have said who they are, and wait for an answer.
///
/// Of a caller that is nobody yet no more is read than a call, for ten seconds, and at most 256 such at a time; what is
/// not of this job is closed without an answer. Who waits is told so every few seconds, and leaves by hanging up. One
/// thread at a time.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "comm/elastic/call.h"

namespace robusta::elastic {

class Gathering {
 public:
  struct Caller {
    Descriptor socket;
    Call call;
    bool confirmed = false;  ///< has said that it is still there, since it was last asked
  };
  /// What becomes of a whole call: nothing, and it waits; or the last word that it hears.
  using Judge = std::function<std::optional<Answer>(const Call&)>;

  explicit Gathering(const std::string& secret);

  /// Takes what has arrived at these listeners and from those who wait; waits for it no longer than `most`.
  void serve(std::span<const int> listeners, std::chrono::milliseconds most, const Judge& judge);

  std::vector<Caller>& callers() { return callers_; }
  const std::vector<Caller>& callers() const { return callers_; }
  /// The last word to those `which` says yes to.
  void dismiss(const Answer& word, const std::function<bool(const Caller&)>& which);

 private:
  struct Guest {
    Descriptor socket;
    Clock::time_point since;
    Call call{};
    size_t received = 0;
  };

  void accept_all(int listener);
  /// Whether a guest has still to say who it is.
  bool stays(Guest& guest, const Judge& judge);
  void take(Guest& guest, const Judge& judge);
  void tell_who_waits();

  char secret_[sizeof Call::secret] = {};
  std::vector<Guest> guests_;
  std::vector<Caller> callers_;
  Clock::time_point told_ = Clock::now();  ///< when those who wait last heard so
};

/// False: the caller is gone, or does not take a few bytes.
bool tell(const Gathering::Caller& caller, const Answer& answer);

Answer elsewhere(const Member& place);
Answer refusal(const std::string& why);
Answer job_is_over(int code, const std::string& how);

}  // namespace robusta::elastic
