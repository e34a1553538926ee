/// Addresses of IPv6. The watch itself talks over IPv4; what else passes between hosts of the job, such as messages of
/// MPI, may pass over either.
#pragma once

#include <netinet/in.h>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace robusta::liveness {

/// In network byte order.
using Address6 = std::array<uint8_t, 16>;

/// Those of this host by which others may know it. Addresses of a link alone (fe80::/10) are left out: many hosts may
/// have the same.
std::vector<Address6> own_addresses6();

Address6 address_of(const sockaddr_in6& place);

/// The IPv4 address that a socket of IPv6 shows as ::ffff:a.b.c.d (RFC 4291, 2.5.5.2).
std::optional<in_addr> mapped_ipv4(const Address6& address);

}  // namespace robusta::liveness
