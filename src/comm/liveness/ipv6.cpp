// Interfaces by getifaddrs(3), as for IPv4 (interfaces.cpp).
#include "comm/liveness/ipv6.h"

#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace robusta::liveness {

Address6 address_of(const sockaddr_in6& place) {
  Address6 address;
  std::memcpy(address.data(), place.sin6_addr.s6_addr, address.size());
  return address;
}

std::vector<Address6> own_addresses6() {
  std::vector<Address6> found;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return found;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
  for (const ifaddrs* i = list; i != nullptr; i = i->ifa_next) {
    const bool usable = i->ifa_addr != nullptr && i->ifa_addr->sa_family == AF_INET6 && (i->ifa_flags & IFF_UP) != 0 &&
                        (i->ifa_flags & IFF_LOOPBACK) == 0;
    if (!usable) continue;
    const auto& place = *reinterpret_cast<const sockaddr_in6*>(i->ifa_addr);
    if (!IN6_IS_ADDR_LINKLOCAL(&place.sin6_addr)) found.push_back(address_of(place));
  }
  return found;
}

std::optional<in_addr> mapped_ipv4(const Address6& address) {
  constexpr std::array<uint8_t, 12> kPrefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (!std::equal(kPrefix.begin(), kPrefix.end(), address.begin())) return std::nullopt;
  in_addr result;
  std::memcpy(&result.s_addr, address.data() + kPrefix.size(), sizeof result.s_addr);
  return result;
}

}  // namespace robusta::liveness
