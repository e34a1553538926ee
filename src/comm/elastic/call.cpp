// Only what is needed to speak of an address.

#include "comm/elastic/call.h"

#include <arpa/inet.h>

#include "base/str.h"

namespace robusta::elastic {

std::string place_text(Address address, uint32_t port) {
  in_addr number{};
  number.s_addr = address;
  char text[INET_ADDRSTRLEN] = {};
  inet_ntop(AF_INET, &number, text, sizeof text);
  return str(text, ":", port);
}

}  // namespace robusta::elastic
