/// A shared library that is loaded when it is first needed, and its symbols by name.
///
/// What brings many libraries with it, or is not on every machine, is no part of the program's start. A folder that
/// uses such a library declares each name once more within `namespace robusta` as a LateFunction, which hides the one
/// that the library's header declares in the global namespace: code then calls the library as its documentation says.
#pragma once

#include <atomic>
#include <span>
#include <string>

#include "robusta/error.h"

namespace robusta {

struct LateLibraryNeed {
  ErrorKind kind;           ///< of the error where there is none
  std::string user;         ///< what needs it: "HDF5 files need"
  std::string fix;          ///< how to get it
  const char* probe;        ///< a function of it
  bool for_others = false;  ///< libraries that it loads itself use its symbols, too (RTLD_GLOBAL)
};

/// It stays loaded: its own clean-up runs when the process ends.
class LateLibrary {
 public:
  /// The first of `names` that can be loaded. Throws Error with the loader's words for the first one.
  LateLibrary(std::span<const std::string> names, const LateLibraryNeed& need);
  /// Throws Error where it has no such symbol.
  void* find(const char* symbol) const;
  /// 0 where it has no such symbol.
  void* look_for(const char* symbol) const;

 private:
  LateLibraryNeed need_;
  std::string name_;
  void* scope_ = nullptr;
};

/// A symbol that is looked for once; kFind gives its address, or throws.
template <void* (*kFind)(const char*)>
class LateSymbol {
 public:
  constexpr explicit LateSymbol(const char* name) : name_(name) {}
  void* address() const {
    void* found = address_.load(std::memory_order_acquire);
    if (!found) address_.store(found = kFind(name_), std::memory_order_release);
    return found;
  }

 private:
  const char* name_;
  mutable std::atomic<void*> address_ = nullptr;
};

template <void* (*kFind)(const char*), typename F>
class LateFunction;
template <void* (*kFind)(const char*), typename Result, typename... Arguments>
class LateFunction<kFind, Result(Arguments...)> {
 public:
  using Pointer = Result (*)(Arguments...);
  constexpr explicit LateFunction(const char* name) : symbol_(name) {}
  operator Pointer() const { return reinterpret_cast<Pointer>(symbol_.address()); }
  Result operator()(Arguments... arguments) const { return Pointer(*this)(arguments...); }

 private:
  LateSymbol<kFind> symbol_;
};

}  // namespace robusta

/// ROBUSTA_LATE_FUNCTION(find_in_hdf5, H5open): the function within `namespace robusta`. Where the header makes a name
/// a macro, the macro's text is what is looked for.
#define ROBUSTA_TEXT_OF(name) #name
#define ROBUSTA_LATE_FUNCTION(find, name) \
  inline constinit const LateFunction<find, decltype(::name)> name { ROBUSTA_TEXT_OF(name) }
