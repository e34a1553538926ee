/// A stream socket that carries frames and never blocks.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "comm/liveness/roster.h"

namespace robusta::liveness {

enum class FrameType : uint32_t { kHello = 1, kWelcome, kBeat, kVerdict, kLoad };

struct Frame {
  FrameType type;
  std::string body;
};

/// Copies the body into `to` when it has that size.
template <typename T>
bool unpack(const Frame& frame, T& to) {
  if (frame.body.size() != sizeof to) return false;
  std::memcpy(&to, frame.body.data(), sizeof to);
  return true;
}

/// Opens a talk: who calls whom, in which job.
struct Hello {
  uint32_t magic = 0x52425354;  ///< "RBST"
  RankId from, to;              ///< the caller, and whom it means to reach: another program may have the port
  Token token{};
};

class Link {
 public:
  /// Takes over a connected or connecting socket, already non-blocking.
  explicit Link(Descriptor socket);
  /// Begins to connect. The socket tells of the outcome by becoming writable.
  static Link connect(Address address, uint16_t port);

  /// What a call met: kOver when the other process closed or was killed, kBroken when the network gave up.
  enum class Outcome { kOpen, kOver, kBroken };

  /// Appends a frame to what is to be sent. While the peer takes nothing, beats are dropped: the next one says more.
  void queue(FrameType type, const void* body, size_t bytes);
  Outcome send();
  /// Reads what there is, 256 KB at most, and appends each whole frame to `frames`, those before an end too.
  Outcome receive(std::vector<Frame>& frames);
  /// The same from somebody unknown: not a byte more than one hello is read, and what cannot become one breaks the
  /// link.
  Outcome receive_hello(std::vector<Frame>& frames);

  int fd() const { return socket_.get(); }
  bool has_unsent() const { return !out_.empty(); }
  /// The error (errno) of the last call that did not leave the link open; 0: the peer closed.
  int error() const { return error_; }
  void note_error(int error) { error_ = error; }
  /// For how long the system itself may go without an answer before it breaks the connection.
  void keep_trying(double seconds);
  /// Says that nothing more will be sent.
  void finish_sending();

 private:
  Outcome fail(int error);
  Outcome read(size_t most);
  /// Takes the whole frames out of what was read; false when something can be none.
  bool cut(std::vector<Frame>& frames, size_t largest);

  Descriptor socket_;
  std::vector<char> in_, out_;  ///< received, and not yet a whole frame; not yet sent
  int error_ = 0;               ///< errno; 0: none
};

}  // namespace robusta::liveness
