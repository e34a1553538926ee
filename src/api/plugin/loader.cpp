// Loads plugins: shared libraries that were compiled against the installed headers.
//
// A plugin is bound lazily and asked for the version of its headers before any of its code that uses the library runs.
// Its symbols are found in whoever holds the library: `caffe` itself, or librobusta.so, which is made visible to it
// where a program (Python, say) had loaded it for itself alone.

#include "api/plugin/loader.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>

#include "base/str.h"
#include "robusta/layer.h"
#include "robusta/version.h"

namespace robusta::v1 {
namespace {

constexpr const char* kRebuild = "compile it against the headers of this version (docs/library.md)";

/// The file that holds this code: a program, or librobusta.so.
std::string own_file() {
  Dl_info here{};
  const bool found = dladdr(reinterpret_cast<const void*>(&load_plugin), &here) != 0 && here.dli_fname;
  return found ? here.dli_fname : "";
}

bool in_shared_library() { return own_file().find("librobusta.so") != std::string::npos; }

void make_library_visible() {
  if (in_shared_library()) dlopen(own_file().c_str(), RTLD_NOLOAD | RTLD_LAZY | RTLD_GLOBAL);
}

/// A second copy of the library would register its messages once more, and protobuf would end the process.
void refuse_second_library(const std::string& path) {
  if (in_shared_library()) return;
  std::ifstream file(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  if (bytes.find("librobusta.so") == std::string::npos) return;
  throw Error(ErrorKind::kUnsupported,
              str(path, " is linked to librobusta.so, and this program holds the library itself"),
              "link the plugin to Robusta::plugin, which is headers alone");
}

/// dlopen looks for a name without a slash in the system's folders alone.
std::string as_path(const std::string& path) { return path.find('/') == std::string::npos ? "./" + path : path; }

void* open_plugin(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) {
    throw Error(ErrorKind::kUsage, str("there is no plugin ", path), "give the path of a shared library");
  }
  refuse_second_library(path);
  make_library_visible();
  if (void* plugin = dlopen(as_path(path).c_str(), RTLD_LAZY | RTLD_LOCAL)) return plugin;
  throw Error(ErrorKind::kUnsupported, str("the plugin ", path, " cannot be loaded: ", dlerror()), kRebuild);
}

void* require_symbol(void* plugin, const std::string& path, const char* name) {
  if (void* symbol = dlsym(plugin, name)) return symbol;
  throw Error(ErrorKind::kUnsupported, str(path, " is no plugin: it has no ", name),
              "write ROBUSTA_PLUGIN() { ... } in one of its files (robusta/layer.h)");
}

}  // namespace

void load_plugin(const std::string& path) {
  void* const plugin = open_plugin(path);
  const auto abi = reinterpret_cast<int (*)()>(require_symbol(plugin, path, "robusta_plugin_abi"));
  const auto begin = reinterpret_cast<void (*)()>(require_symbol(plugin, path, "robusta_plugin_register"));
  if (const int theirs = abi(); theirs != kPluginAbi) {
    throw Error(ErrorKind::kUnsupported,
                str(path, " was compiled for version ", theirs, " of the interface for plugins, ",
                    "and this is Robusta ", version(), " with version ", kPluginAbi),
                kRebuild);
  }
  begin();
}

}  // namespace robusta::v1

namespace robusta {

void load_plugins(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) v1::load_plugin(path);
}

}  // namespace robusta
