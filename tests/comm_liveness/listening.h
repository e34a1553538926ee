/// Where a process listens, by /proc.
#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>

#include <cstdio>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/files.h"

namespace robusta::test {

/// TCP sockets of `pid` that listen, but those that it has from its parent.
inline std::vector<sockaddr_in> listening_of(int pid, const std::set<std::string>& inherited = {}) {
  namespace fs = std::filesystem;
  const std::string process = "/proc/" + std::to_string(pid);
  std::set<std::string> sockets;
  for (const auto& fd : fs::directory_iterator(process + "/fd")) {
    std::error_code error;
    sockets.insert(fs::read_symlink(fd.path(), error).string());
  }
  for (const std::string& socket : inherited) sockets.erase(socket);
  std::istringstream lines(read_file(process + "/net/tcp"));
  std::vector<sockaddr_in> result;
  for (std::string line; std::getline(lines, line);) {
    unsigned number, address, port, peer, peer_port, state;
    unsigned long inode = 0;
    const int found = std::sscanf(line.c_str(), " %u: %x:%x %x:%x %x %*s %*s %*s %*s %*s %lu", &number, &address, &port,
                                  &peer, &peer_port, &state, &inode);
    constexpr unsigned kListens = 0x0A;
    if (found != 7 || state != kListens || sockets.count("socket:[" + std::to_string(inode) + "]") == 0) continue;
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = address;
    place.sin_port = htons(static_cast<uint16_t>(port));
    result.push_back(place);
  }
  return result;
}

/// A connection to it; -1 when there is none.
inline int connect_to(const sockaddr_in& place, bool blocking = true) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&place), sizeof place) != 0) {
    close(fd);
    return -1;
  }
  if (!blocking) fcntl(fd, F_SETFL, O_NONBLOCK);
  return fd;
}

}  // namespace robusta::test
