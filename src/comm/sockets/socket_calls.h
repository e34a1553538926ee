/// The system's calls for stream sockets, as descriptors and deadlines.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/descriptor.h"
#include "comm/liveness/listener.h"

namespace robusta::sockets {

using liveness::Address;
using liveness::listen_at;
using Clock = std::chrono::steady_clock;

/// The first IPv4 address of a host by its name or number, in network byte order. Throws Error{kCommunication}.
Address resolve(const std::string& host);

/// The next that called, without blocking, and where from. Not open: errno tells, is_for_later() of it when nobody has.
Descriptor accept_from(int listener, Address* from = nullptr);

/// Begins to connect, without blocking: the socket tells of the outcome by becoming writable (connect_error).
Descriptor begin_connect(Address address, uint16_t port);
/// errno of a connect that has ended; 0: it stands.
int connect_error(int socket);

/// This side's address of a connection.
Address own_address(int socket);

/// Whether an error of a call means that it may do later what it cannot do now.
bool is_for_later(int error);

/// Waits until the socket is readable (writable), or the deadline has passed; false for the latter.
bool await(int socket, short events, Clock::time_point deadline);

/// All of it, or an errno: ETIMEDOUT after the deadline, ECONNRESET when the other side has closed. The socket does not
/// block.
int send_all(int socket, const void* data, size_t bytes, Clock::time_point deadline);
int receive_all(int socket, void* data, size_t bytes, Clock::time_point deadline);

}  // namespace robusta::sockets
