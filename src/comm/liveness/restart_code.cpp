// One number of the process, which the watch's thread reads as well.

#include "comm/liveness/restart_code.h"

#include <atomic>

#include "robusta/error.h"

namespace robusta {
namespace {

std::atomic<int> g_restart_code = 0;

}  // namespace

void set_restart_code(int code) { g_restart_code = code; }

int restart_code() { return g_restart_code; }

int final_code(int code) {
  const int restart = restart_code();
  return restart != 0 && code == static_cast<int>(ErrorKind::kCommunication) ? restart : code;
}

}  // namespace robusta
