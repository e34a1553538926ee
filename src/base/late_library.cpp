// By dlopen and dlsym.

#include "base/late_library.h"

#include <dlfcn.h>

#include "base/str.h"

namespace robusta {
namespace {

/// Where to look for symbols. A program that is linked with the same library has copies of its variables (System V ABI,
/// "copy relocations"), and the library uses these.
void* scope_of(void* library, const char* probe) {
  void* const own = dlsym(library, probe);
  return own && dlsym(RTLD_DEFAULT, probe) == own ? RTLD_DEFAULT : library;
}

}  // namespace

LateLibrary::LateLibrary(std::span<const std::string> names, const LateLibraryNeed& need) : need_(need) {
  std::string why;
  for (const std::string& name : names) {
    if (void* const library = dlopen(name.c_str(), RTLD_NOW | (need.for_others ? RTLD_GLOBAL : RTLD_LOCAL))) {
      name_ = name;
      scope_ = scope_of(library, need.probe);
      return;
    }
    if (why.empty()) why = dlerror();
  }
  throw Error(need.kind, str(need.user, " ", names.front(), ", which cannot be loaded: ", why), need.fix);
}

void* LateLibrary::look_for(const char* symbol) const { return dlsym(scope_, symbol); }

void* LateLibrary::find(const char* symbol) const {
  if (void* const address = look_for(symbol)) return address;
  throw Error(need_.kind, str(name_, " lacks ", symbol), need_.fix);
}

}  // namespace robusta
