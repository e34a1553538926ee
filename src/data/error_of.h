/// Failures that cross threads: what a worker or a parallel loop must not throw becomes a value.
#pragma once

#include <new>
#include <optional>
#include <string>

#include "robusta/error.h"

namespace robusta {

/// The failure of `body`, whatever it throws. `memory_fix`: what to do where memory ran out.
template <typename Body>
std::optional<Error> error_of(const Body& body, const std::string& memory_fix) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error(ErrorKind::kMemory, "no memory for what is read", memory_fix);
  } catch (const std::exception& error) {
    return Error(ErrorKind::kInternal, error.what());
  }
  return std::nullopt;
}

}  // namespace robusta
