/// The border between the engine and code of plugins: whatever that throws becomes an Error, to which the engine adds
/// the layer with file and line.
#pragma once

#include <exception>
#include <new>

#include "base/str.h"
#include "robusta/error.h"

namespace robusta::v1 {

/// What is wrong is the plugin, not what its user wrote.
inline Error plugin_error(const std::string& cause) {
  return Error(ErrorKind::kInternal, "the plugin's code: " + cause, "this is for the plugin's author to mend");
}

/// The result of call(), which is a plugin's. Its own Errors stay as they are.
template <typename Call>
auto in_plugin(const Call& call) {
  try {
    return call();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::kMemory, "out of memory in the plugin's code");
  } catch (const std::exception& error) {
    throw plugin_error(error.what());
  } catch (...) {
    throw plugin_error("an exception of an unknown type");
  }
}

}  // namespace robusta::v1
