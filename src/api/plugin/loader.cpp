// Loads plugins: shared libraries that were compiled against the installed headers.
//
// A plugin is asked for the version of its headers before its registration runs; what it constructs at load time runs
// before that, and has to do without the library. Its symbols are found in whoever holds the library: `caffe` itself,
// or librobusta.so, which is made visible to it where a program (Python, say) had loaded it for itself alone.

#include "api/plugin/loader.h"

#include <dlfcn.h>
#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "api/plugin/border.h"
#include "base/input_file.h"
#include "base/log.h"
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

/// Of a file that is cut off the loader maps more than there is, and the first look behind the end ends the program.
bool is_cut_off(const std::string& bytes) {
  Elf64_Ehdr head;
  if (!bytes.starts_with(ELFMAG) || bytes.size() < sizeof head) return bytes.starts_with(ELFMAG);
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.e_ident[EI_CLASS] != ELFCLASS64) return false;  // refused by the loader
  const auto is_there = [&](uint64_t at, uint64_t size) { return at <= bytes.size() && size <= bytes.size() - at; };
  for (uint64_t i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr part;
    if (!is_there(head.e_phoff, (i + 1) * sizeof part)) return true;
    std::memcpy(&part, bytes.data() + head.e_phoff + i * sizeof part, sizeof part);
    if (part.p_type == PT_LOAD && !is_there(part.p_offset, part.p_filesz)) return true;
  }
  return false;
}

/// A second copy of the library would register its messages once more, and protobuf would end the process.
void refuse_second_library(const std::string& path, const std::string& bytes) {
  if (in_shared_library()) return;
  if (bytes.find("librobusta.so") == std::string::npos) return;
  throw Error(ErrorKind::kUnsupported,
              str(path, " is linked to librobusta.so, and this program holds the library itself"),
              "link the plugin to Robusta::plugin, which is headers alone");
}

/// dlopen looks for a name without a slash in the system's folders alone.
std::string as_path(const std::string& path) { return path.find('/') == std::string::npos ? "./" + path : path; }

void* require_symbol(void* plugin, const std::string& path, const char* name) {
  if (void* symbol = dlsym(plugin, name)) return symbol;
  throw Error(ErrorKind::kUnsupported, str(path, " is no plugin: it has no ", name),
              "write ROBUSTA_PLUGIN() { ... } in one of its files (robusta/layer.h)");
}

void refuse_other_version(void* plugin, const std::string& path) {
  const auto abi = reinterpret_cast<int (*)()>(require_symbol(plugin, path, "robusta_plugin_abi"));
  const int theirs = in_plugin([&] { return abi(); });
  if (theirs == kPluginAbi) return;
  throw Error(ErrorKind::kUnsupported,
              str(path, " was compiled for version ", theirs, " of the interface for plugins, ", "and this is Robusta ",
                  version(), " with version ", kPluginAbi),
              kRebuild);
}

/// Whether somebody else than this user, the group he has given it to, and root can put code of theirs there.
bool others_write(const struct stat& status) {
  const bool foreign = status.st_uid != 0 && status.st_uid != geteuid();
  const bool sticky = S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0;  // each only what is his own
  return foreign || ((status.st_mode & S_IWOTH) != 0 && !sticky);
}

/// A plugin has all rights of its user. What the path leads to counts, and the folder that this lies in.
void warn_of_others(const std::string& path) {
  std::error_code error;
  const std::filesystem::path file = std::filesystem::canonical(path, error);
  if (error) return;
  for (const std::filesystem::path& place : {file, file.parent_path()}) {
    struct stat status;
    if (::stat(place.c_str(), &status) != 0 || !others_write(status)) continue;
    LOG_WARNING << "The plugin " << path << " is code that runs with your rights, and other users can change "
                << place.string() << ": chmod o-w, or keep plugins where you alone write";
    return;
  }
}

void* open_plugin(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) {
    throw Error(ErrorKind::kUsage, str("there is no plugin ", path), "give the path of a shared library");
  }
  warn_of_others(path);
  const std::string bytes = read_input_file(path, ErrorKind::kUsage);
  if (is_cut_off(bytes)) {
    throw Error(ErrorKind::kUnsupported, str("the plugin ", path, " cannot be loaded: it is cut off"), "copy it again");
  }
  refuse_second_library(path, bytes);
  make_library_visible();
  // All functions that it needs have to be there now: one that is missed at its call would end the program.
  if (void* plugin = dlopen(as_path(path).c_str(), RTLD_NOW | RTLD_LOCAL)) return plugin;
  const std::string why = dlerror();
  // Of another version, it may lack functions; then the version is what counts.
  if (void* plugin = dlopen(as_path(path).c_str(), RTLD_LAZY | RTLD_LOCAL)) refuse_other_version(plugin, path);
  throw Error(ErrorKind::kUnsupported, str("the plugin ", path, " cannot be loaded: ", why), kRebuild);
}

/// Runs the plugin's registration. Its errors tell which plugin they are of.
void register_plugin(void (*begin)(), const std::string& path) {
  try {
    in_plugin([&] { begin(); });
  } catch (const Error& error) {
    throw Error(error.kind(), str("the plugin ", path, ": ", error.cause()), error.fix());
  }
}

}  // namespace

void load_plugin(const std::string& path) {
  void* const plugin = open_plugin(path);
  refuse_other_version(plugin, path);
  register_plugin(reinterpret_cast<void (*)()>(require_symbol(plugin, path, "robusta_plugin_register")), path);
}

}  // namespace robusta::v1

namespace robusta {

void load_plugins(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) v1::load_plugin(path);
}

}  // namespace robusta
