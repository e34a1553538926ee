/// The handles of the C interface, and how exceptions become its error codes.
#pragma once

#include <exception>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "robusta.h"
#include "robusta/communicator.h"
#include "robusta/error.h"
#include "robusta/net.h"
#include "robusta/solver.h"

struct robusta_net {
  std::optional<robusta::v1::Net> owned;  ///< none: the net is a solver's
  robusta::v1::Net* net = nullptr;
  std::string name;  ///< the last one that was returned
};

struct robusta_ranks {
  robusta::v1::Communicator communicator;
  std::string host;
};

struct robusta_solver {
  explicit robusta_solver(robusta::v1::Solver made) : solver(std::move(made)) {}
  robusta::v1::Solver solver;
  robusta_net net;  ///< the solver's own net, lent out
};

namespace robusta::v1 {

/// Remembers the text for this thread; returns the number of the kind.
int remember_error(const char* text, ErrorKind kind) noexcept;

/// Runs a call's work. No exception leaves the C interface.
template <typename Work>
int guarded(const Work& work) noexcept {
  try {
    work();
    return 0;
  } catch (const Error& error) {
    return remember_error(error.what(), error.kind());
  } catch (const std::bad_alloc&) {
    return remember_error("out of memory", ErrorKind::kMemory);
  } catch (const std::exception& error) {
    return remember_error(error.what(), ErrorKind::kInternal);
  } catch (...) {
    return remember_error("an exception of an unknown type", ErrorKind::kInternal);
  }
}

/// Throws Error{kUsage} for a null pointer, naming what it should be.
template <typename T>
T* required(T* pointer, const char* what) {
  if (!pointer) throw Error(ErrorKind::kUsage, std::string("null given for ") + what);
  return pointer;
}

}  // namespace robusta::v1
