/// The functions of NCCL that are used, found when the program runs: a build needs neither its header nor the library.
///
/// Declared as in NCCL 2.14, the first with communicators that do not block; all later ones have kept to that
/// (nccl_header_cuda.cpp compares with the header of the toolkit). A table is loaded once and stays for the life of the
/// process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace robusta {

enum NcclResult : int {
  kNcclSuccess = 0,
  kNcclUnhandledCudaError = 1,
  kNcclSystemError = 2,
  kNcclInternalError = 3,
  kNcclInvalidArgument = 4,
  kNcclInvalidUsage = 5,
  kNcclRemoteError = 6,
  kNcclInProgress = 7,
};

enum NcclOperation : int { kNcclSum = 0 };
enum NcclType : int { kNcclFloat32 = 7, kNcclFloat64 = 8 };

/// What the ranks of a communicator find each other by.
struct NcclId {
  char bytes[128] = {};
};

/// Settings of a communicator, in their first form.
struct NcclConfig {
  size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef, version = 21400;  ///< NCCL_CONFIG_INITIALIZER's of 2.14
  int blocking = 0;                              ///< 0: calls return at once, and are asked for their end
  int unused = INT32_MIN;                        ///< NCCL's mark of a field that is not set
};

using NcclCommHandle = struct NcclCommState*;
using NcclStreamHandle = struct NcclStreamState*;  ///< from Stream::native()

struct NcclApi {
  std::string file;
  int version = 0;  ///< 22809: 2.28.9

  NcclResult (*get_version)(int*) = nullptr;
  NcclResult (*get_unique_id)(NcclId*) = nullptr;
  NcclResult (*comm_init_rank_config)(NcclCommHandle*, int ranks, NcclId, int rank, NcclConfig*) = nullptr;
  NcclResult (*comm_finalize)(NcclCommHandle) = nullptr;
  NcclResult (*comm_destroy)(NcclCommHandle) = nullptr;
  NcclResult (*comm_abort)(NcclCommHandle) = nullptr;
  NcclResult (*comm_get_async_error)(NcclCommHandle, NcclResult*) = nullptr;
  const char* (*get_error_string)(NcclResult) = nullptr;
  const char* (*get_last_error)(NcclCommHandle) = nullptr;
  NcclResult (*all_reduce)(const void* from, void* to, size_t count, NcclType, NcclOperation, NcclCommHandle,
                           NcclStreamHandle) = nullptr;
  NcclResult (*reduce_scatter)(const void* from, void* to, size_t piece, NcclType, NcclOperation, NcclCommHandle,
                               NcclStreamHandle) = nullptr;
  NcclResult (*all_gather)(const void* from, void* to, size_t piece, NcclType, NcclCommHandle,
                           NcclStreamHandle) = nullptr;
  NcclResult (*reduce)(const void* from, void* to, size_t count, NcclType, NcclOperation, int root, NcclCommHandle,
                       NcclStreamHandle) = nullptr;
  NcclResult (*broadcast)(const void* from, void* to, size_t count, NcclType, int root, NcclCommHandle,
                          NcclStreamHandle) = nullptr;

  /// "2.28.9"
  std::string version_text() const;
};

/// The first of these files (or names that the dynamic linker resolves) that is there and serves. Null where there is
/// none; `why` then says what was wrong with each. By any thread.
const NcclApi* find_nccl(const std::vector<std::string>& files, std::string& why);

}  // namespace robusta
