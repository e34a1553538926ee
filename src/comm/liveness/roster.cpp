#include "comm/liveness/roster.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <sstream>

#include "comm/liveness/messages.h"

namespace robusta::liveness {
namespace {

/// Bridges of containers and virtual machines have the same address on many hosts.
bool is_virtual(const std::string& interface) {
  for (const char* prefix : {"docker", "virbr", "br-", "veth", "lxc", "lxd", "cni", "podman", "vnet"}) {
    if (interface.rfind(prefix, 0) == 0) return true;
  }
  return false;
}

}  // namespace

std::string to_string(Address address) {
  char text[INET_ADDRSTRLEN] = {};
  const in_addr in{address};
  inet_ntop(AF_INET, &in, text, sizeof text);
  return text;
}

std::vector<Address> own_addresses() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return {htonl(INADDR_LOOPBACK)};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
  std::vector<Address> real, bridges;
  for (const ifaddrs* i = list; i != nullptr; i = i->ifa_next) {
    const bool usable = i->ifa_addr != nullptr && i->ifa_addr->sa_family == AF_INET && (i->ifa_flags & IFF_UP) != 0 &&
                        (i->ifa_flags & IFF_LOOPBACK) == 0;
    if (!usable) continue;
    auto& group = is_virtual(i->ifa_name) ? bridges : real;
    group.push_back(reinterpret_cast<const sockaddr_in*>(i->ifa_addr)->sin_addr.s_addr);
  }
  real.insert(real.end(), bridges.begin(), bridges.end());
  if (real.empty()) real.push_back(htonl(INADDR_LOOPBACK));
  return real;
}

uint64_t process_start(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  // The name of the program, field 2, may hold anything, so fields are counted from the bracket that ends it (proc(5)).
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  for (int field = 3; field < 22; ++field) fields >> skipped;
  uint64_t start = 0;
  fields >> start;
  return start;
}

Roster gather_roster(Communicator& world, uint16_t port) {
  Contact mine;
  copy_text(mine.host, world.host());
  mine.pid = getpid();
  mine.port = port;
  mine.started = process_start(mine.pid);
  const std::vector<Address> addresses = own_addresses();
  mine.address_count = static_cast<int32_t>(std::min(addresses.size(), kMaxAddresses));
  std::copy_n(addresses.begin(), mine.address_count, mine.addresses.begin());
  if (world.rank() == 0) [[maybe_unused]]
    const ssize_t drawn = getrandom(mine.token.data(), mine.token.size(), 0);
  Roster roster(static_cast<size_t>(world.size()));
  world.all_gather(&mine, sizeof mine, roster.data());
  return roster;
}

std::vector<std::string> host_names(const Roster& roster) {
  std::vector<std::string> names;
  names.reserve(roster.size());
  for (const Contact& contact : roster) names.emplace_back(contact.host);
  return names;
}

}  // namespace robusta::liveness
