// What the C interface has for the whole process, and the last error of each thread.

#include "api/c/handles.h"
#include "robusta/layer.h"
#include "robusta/log.h"
#include "robusta/version.h"

namespace robusta::v1 {
namespace {

std::string& last_error() {
  static thread_local std::string text;
  return text;
}

}  // namespace

int remember_error(const char* text, ErrorKind kind) noexcept {
  try {
    last_error() = text;
  } catch (const std::bad_alloc&) {
    last_error().clear();  // the number still says it
  }
  return static_cast<int>(kind);
}

}  // namespace robusta::v1

using robusta::v1::guarded;
using robusta::v1::required;

const char* robusta_version() { return robusta::version(); }
const char* robusta_last_error() { return robusta::v1::last_error().c_str(); }

void robusta_set_log(robusta_log_function function, void* context) {
  guarded([&] {
    if (!function) return static_cast<void>(robusta::set_log_sink({}));
    robusta::set_log_sink([=](const robusta::LogLine& line) {
      function(static_cast<int>(line.severity), std::string(line.text).c_str(), context);
    });
  });
}

int robusta_load_plugin(const char* path) {
  return guarded([&] { robusta::v1::load_plugin(required(path, "path")); });
}
