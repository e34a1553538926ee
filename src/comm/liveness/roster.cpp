// The roster is gathered over the communicator when the watch starts, as fixed-size records: later nobody needs MPI to
// find a peer.

#include "comm/liveness/roster.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <sstream>

#include "comm/liveness/messages.h"

namespace robusta::liveness {
Token draw_token() {
  Token token{};
  if (getrandom(token.data(), token.size(), 0) == static_cast<ssize_t>(token.size())) return token;
  std::random_device device;
  for (uint8_t& byte : token) byte = static_cast<uint8_t>(device());
  return token;
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

void set_addresses(Contact& contact, const std::vector<NetworkAddress>& addresses) {
  contact.address_count = static_cast<int32_t>(std::min(addresses.size(), kMaxAddresses));
  std::copy_n(addresses.begin(), contact.address_count, contact.addresses.begin());
}

std::vector<NetworkAddress> addresses_of(const Contact& contact) {
  return {contact.addresses.begin(), contact.addresses.begin() + contact.address_count};
}

void set_addresses6(Contact& contact, const std::vector<Address6>& addresses) {
  contact.address6_count = static_cast<int32_t>(std::min(addresses.size(), kMaxAddresses));
  std::copy_n(addresses.begin(), contact.address6_count, contact.addresses6.begin());
}

std::vector<Address6> addresses6_of(const Contact& contact) {
  return {contact.addresses6.begin(), contact.addresses6.begin() + contact.address6_count};
}

Contact own_contact(const Communicator& world) {
  Contact mine;
  copy_text(mine.host, world.host());
  mine.pid = getpid();
  mine.started = process_start(mine.pid);
  set_addresses(mine, own_addresses(chosen_interfaces()));
  set_addresses6(mine, own_addresses6());
  if (world.rank() == 0) mine.token = draw_token();
  return mine;
}

Roster gather_roster(Communicator& world, const Contact& mine) {
  Roster roster;
  for (const Contact& contact : world.gather(mine)) roster.push_back(contact);
  return roster;
}

IdVector<RankId, std::string> host_names(const Roster& roster) {
  IdVector<RankId, std::string> names;
  for (const Contact& contact : roster) names.emplace_back(contact.host);
  return names;
}

}  // namespace robusta::liveness
