// Interfaces by getifaddrs(3), routes by connecting a datagram socket, which sends nothing.
//
// Only addresses are listened at over which a caller can come: the watch needs no open port on any other network.
#include "comm/liveness/interfaces.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <memory>
#include <sstream>

#include "base/descriptor.h"

namespace robusta::liveness {
namespace {

struct Interface {
  std::string name;
  NetworkAddress at;
};

/// Bridges of containers and virtual machines have the same address on many hosts.
bool is_virtual(const std::string& interface) {
  for (const char* prefix : {"docker", "virbr", "br-", "veth", "lxc", "lxd", "cni", "podman", "vnet"}) {
    if (interface.rfind(prefix, 0) == 0) return true;
  }
  return false;
}

std::vector<Interface> own_interfaces() {
  std::vector<Interface> found;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return found;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
  for (const ifaddrs* i = list; i != nullptr; i = i->ifa_next) {
    const bool usable = i->ifa_addr != nullptr && i->ifa_addr->sa_family == AF_INET && (i->ifa_flags & IFF_UP) != 0 &&
                        (i->ifa_flags & IFF_LOOPBACK) == 0;
    if (!usable) continue;
    const auto raw = [](const sockaddr* a) { return reinterpret_cast<const sockaddr_in*>(a)->sin_addr.s_addr; };
    const int bits = i->ifa_netmask ? std::popcount(raw(i->ifa_netmask)) : 32;
    found.push_back({i->ifa_name, {raw(i->ifa_addr), bits}});
  }
  return found;
}

/// Whether a word of a list names the interface: "ib0", or "10.0.0.0/8".
bool names(const std::string& word, const Interface& interface) {
  const size_t slash = word.find('/');
  in_addr network{};
  if (slash == std::string::npos) return word == interface.name;
  if (inet_pton(AF_INET, word.substr(0, slash).c_str(), &network) != 1) return false;
  const int bits = std::clamp(std::atoi(word.c_str() + slash + 1), 0, 32);
  return share_network({network.s_addr, bits}, {interface.at.address, bits});
}

void keep_chosen(std::vector<Interface>& interfaces, const std::string& chosen) {
  std::vector<Interface> kept;
  std::istringstream words(chosen);
  for (std::string word; std::getline(words, word, ',');) {
    for (const Interface& interface : interfaces) {
      if (names(word, interface)) kept.push_back(interface);
    }
  }
  if (!kept.empty()) interfaces = std::move(kept);
}

void add(std::vector<Address>& list, Address address) {
  if (address != 0 && std::find(list.begin(), list.end(), address) == list.end()) list.push_back(address);
}

/// The own addresses on networks of one caller. Its address may be one of ours: ranks that pretend to be on several
/// hosts, or a bridge that every host has; hence only where no other network is shared.
std::vector<Address> shared_with(const std::vector<NetworkAddress>& own, const std::vector<NetworkAddress>& caller) {
  std::vector<Address> apart, same;
  for (const NetworkAddress& mine : own) {
    for (const NetworkAddress& its : caller) {
      if (share_network(mine, its)) add(mine.address == its.address ? same : apart, mine.address);
    }
  }
  return apart.empty() ? same : apart;
}

}  // namespace

std::string to_string(Address address) {
  char text[INET_ADDRSTRLEN] = {};
  const in_addr in{address};
  inet_ntop(AF_INET, &in, text, sizeof text);
  return text;
}

bool share_network(const NetworkAddress& a, const NetworkAddress& b) {
  if (a.bits != b.bits) return false;
  const uint32_t mask = a.bits <= 0 ? 0 : ~uint32_t{0} << (32 - std::min(a.bits, 32));
  return ((ntohl(a.address) ^ ntohl(b.address)) & mask) == 0;
}

std::vector<NetworkAddress> own_addresses(const std::string& chosen) {
  std::vector<Interface> interfaces = own_interfaces();
  if (!chosen.empty()) keep_chosen(interfaces, chosen);
  std::stable_partition(interfaces.begin(), interfaces.end(), [](const Interface& i) { return !is_virtual(i.name); });
  std::vector<NetworkAddress> addresses;
  for (const Interface& interface : interfaces) addresses.push_back(interface.at);
  if (addresses.empty()) addresses.push_back({htonl(INADDR_LOOPBACK), 8});
  return addresses;
}

std::string chosen_interfaces() {
  // What users of Open MPI set where hosts have networks that lead nowhere: the same holds for the watch.
  for (const char* name : {"OMPI_MCA_btl_tcp_if_include", "OMPI_MCA_oob_tcp_if_include"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return "";
}

std::vector<Address> listening_addresses(const std::vector<NetworkAddress>& own,
                                         const std::vector<std::vector<NetworkAddress>>& callers, bool callers_here,
                                         Address (*route)(Address to)) {
  std::vector<Address> used;
  for (const auto& caller : callers) {
    std::vector<Address> shared = shared_with(own, caller);
    if (shared.empty()) {
      for (const NetworkAddress& its : caller) add(shared, route(its.address));
    }
    for (const Address address : shared) add(used, address);
  }
  std::vector<Address> result;
  for (const NetworkAddress& mine : own) {
    if (std::find(used.begin(), used.end(), mine.address) != used.end()) add(result, mine.address);
  }
  if (callers_here || (result.empty() && !callers.empty())) add(result, htonl(INADDR_LOOPBACK));
  return result;
}

Address source_address(Address to) {
  const Descriptor probe(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = to;
  address.sin_port = htons(9);  // of the discard service; nothing is sent
  socklen_t bytes = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (!probe.is_open() || connect(probe.get(), generic, bytes) != 0) return 0;
  return getsockname(probe.get(), generic, &bytes) == 0 ? address.sin_addr.s_addr : 0;
}

sockaddr_in socket_address(Address address, uint16_t port) {
  sockaddr_in result{};
  result.sin_family = AF_INET;
  result.sin_addr.s_addr = address;
  result.sin_port = htons(port);
  return result;
}

}  // namespace robusta::liveness
