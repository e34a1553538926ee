// NCCL is loaded when first asked for, by name, so that one program runs with and without it.

#include "device/nccl/nccl_api.h"

#include <dlfcn.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

#include "base/str.h"

namespace robusta {
namespace {

constexpr int kOldest = 21400;  // 2.14.0, the first with settings of a communicator (NcclConfig)

struct Attempt {
  std::unique_ptr<const NcclApi> api;
  std::string failure;
};

/// Looks up the functions of a library; remembers the first that is missing.
class Symbols {
 public:
  explicit Symbols(void* library) : library_(library) {}

  template <typename Function>
  void find(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(library_, name));
    if (!function && missing_.empty()) missing_ = name;
  }
  const std::string& missing() const { return missing_; }

 private:
  void* library_;
  std::string missing_;
};

Attempt load(const std::string& file) {
  // From 2.24 on NCCL watches its ranks by messages of its own once a second; those would pass for transfers of a job
  // that goes on (comm/liveness/transfers.h), and our watch finds what stands still. A user's own setting wins.
  ::setenv("NCCL_RAS_ENABLE", "0", 0);
  // It stays loaded: its threads may run until the process ends.
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return {nullptr, dlerror()};
  auto api = std::make_unique<NcclApi>();
  api->file = file;
  Symbols symbols(library);
  symbols.find("ncclGetVersion", api->get_version);
  symbols.find("ncclGetUniqueId", api->get_unique_id);
  symbols.find("ncclCommInitRankConfig", api->comm_init_rank_config);
  symbols.find("ncclCommFinalize", api->comm_finalize);
  symbols.find("ncclCommDestroy", api->comm_destroy);
  symbols.find("ncclCommAbort", api->comm_abort);
  symbols.find("ncclCommGetAsyncError", api->comm_get_async_error);
  symbols.find("ncclGetErrorString", api->get_error_string);
  symbols.find("ncclGetLastError", api->get_last_error);
  symbols.find("ncclAllReduce", api->all_reduce);
  symbols.find("ncclReduceScatter", api->reduce_scatter);
  symbols.find("ncclAllGather", api->all_gather);
  symbols.find("ncclReduce", api->reduce);
  symbols.find("ncclBroadcast", api->broadcast);
  if (!symbols.missing().empty()) return {nullptr, str(file, ": has no ", symbols.missing(), ", as NCCL 2.14 has")};
  if (api->get_version(&api->version) != kNcclSuccess || api->version < kOldest) {
    return {nullptr, str(file, ": is NCCL ", api->version_text(), ", 2.14 or later is needed")};
  }
  return {std::move(api), ""};
}

}  // namespace

std::string NcclApi::version_text() const {
  return str(version / 10000, ".", version % 10000 / 100, ".", version % 100);
}

const NcclApi* find_nccl(const std::vector<std::string>& files, std::string& why) {
  static std::mutex mutex;
  static std::map<std::string, Attempt> attempts;
  const std::lock_guard lock(mutex);
  why.clear();
  for (const std::string& file : files) {
    auto found = attempts.find(file);
    if (found == attempts.end()) found = attempts.emplace(file, load(file)).first;
    if (found->second.api) return found->second.api.get();
    why += (why.empty() ? "" : "; ") + found->second.failure;
  }
  return nullptr;
}

}  // namespace robusta
