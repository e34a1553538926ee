/// A call of this process at somebody who may decide about the next generation, seen from its own side.
///
/// It never blocks: step() takes what has arrived. Closing it (the destructor) takes the call back.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "comm/elastic/call.h"

namespace robusta::elastic {

/// Seconds without a word of one that says every three that its callers have to wait.
inline constexpr double kLeaderIsLost = 12;

class OutgoingCall {
 public:
  enum class State {
    kCalling,    ///< nobody has answered yet
    kWaiting,    ///< heard: the other side is deciding
    kAdmitted,   ///< admission()
    kElsewhere,  ///< place()
    kRefused,    ///< why()
    kOver,       ///< the job has ended, with code()
    kNobody,     ///< no process listens there
    kClosed,     ///< the other side has hung up, or cannot be reached
  };

  /// `introduce`, where it is given, completes the call when it is known from which address of this host it goes out.
  using Introduce = std::function<void(Call&, Address own)>;
  OutgoingCall(Address address, uint32_t port, const Call& call, Introduce introduce = {});

  State step();
  State state() const { return state_; }
  const Member& called() const { return called_; }
  /// Whether that host has answered at all.
  bool reached() const { return connected_; }
  /// Seconds since the other side was last heard, or since the call began.
  double quiet() const;

  const Admission& admission() const { return admission_; }
  const Member& place() const { return place_; }
  const std::string& why() const { return why_; }
  int code() const { return code_; }

 private:
  void begin();
  void read();
  /// Takes one word from what was read; false: it is not whole yet.
  bool take_word();
  bool take_admission(const Answer& answer);
  void end(State state) { state_ = state; }

  Call call_;
  Member called_;
  Introduce introduce_;
  Descriptor socket_;
  State state_ = State::kCalling;
  bool connected_ = false;
  size_t sent_ = 0;    ///< of the call
  std::string inbox_;  ///< read, and not taken yet
  Clock::time_point heard_ = Clock::now();
  Admission admission_;
  Member place_;
  std::string why_;
  int code_ = 0;
};

}  // namespace robusta::elastic
