// Compares nccl_api.h with NCCL's own header, where the toolkit has it. Makes no code.
#if __has_include(<nccl.h>)
#include <nccl.h>

#include <type_traits>

#include "device/nccl/nccl_api.h"

namespace robusta {
namespace {

static_assert(NCCL_VERSION_CODE >= 21400);
static_assert(int{ncclSuccess} == kNcclSuccess && int{ncclUnhandledCudaError} == kNcclUnhandledCudaError &&
              int{ncclSystemError} == kNcclSystemError && int{ncclInternalError} == kNcclInternalError &&
              int{ncclInvalidArgument} == kNcclInvalidArgument && int{ncclInvalidUsage} == kNcclInvalidUsage &&
              int{ncclRemoteError} == kNcclRemoteError && int{ncclInProgress} == kNcclInProgress);
static_assert(int{ncclSum} == kNcclSum && int{ncclFloat32} == kNcclFloat32 && int{ncclFloat64} == kNcclFloat64);
static_assert(sizeof(NcclResult) == sizeof(ncclResult_t) && sizeof(NcclType) == sizeof(ncclDataType_t) &&
              sizeof(NcclOperation) == sizeof(ncclRedOp_t));
static_assert(sizeof(NcclId) == sizeof(ncclUniqueId) && alignof(NcclId) == alignof(ncclUniqueId));
static_assert(NCCL_CONFIG_UNDEF_INT == INT32_MIN);
static_assert(offsetof(NcclConfig, size) == offsetof(ncclConfig_t, size) &&
              offsetof(NcclConfig, magic) == offsetof(ncclConfig_t, magic) &&
              offsetof(NcclConfig, version) == offsetof(ncclConfig_t, version) &&
              offsetof(NcclConfig, blocking) == offsetof(ncclConfig_t, blocking));
static_assert(sizeof(NcclConfig) <= sizeof(ncclConfig_t));

template <typename T>
struct Is {
  using Type = T;
};
/// NCCL's type in the place of ours.
template <typename T>
struct Theirs : Is<T> {};
template <>
struct Theirs<NcclResult> : Is<ncclResult_t> {};
template <>
struct Theirs<NcclType> : Is<ncclDataType_t> {};
template <>
struct Theirs<NcclOperation> : Is<ncclRedOp_t> {};
template <>
struct Theirs<NcclId> : Is<ncclUniqueId> {};
template <>
struct Theirs<NcclConfig> : Is<ncclConfig_t> {};
template <>
struct Theirs<NcclCommHandle> : Is<ncclComm_t> {};
template <>
struct Theirs<NcclStreamHandle> : Is<cudaStream_t> {};
template <typename T>
requires(!std::is_function_v<T>) struct Theirs<T*> {
  using Type = typename Theirs<T>::Type*;
};
template <typename Result, typename... Arguments>
struct Theirs<Result (*)(Arguments...)> {
  using Type = typename Theirs<Result>::Type (*)(typename Theirs<Arguments>::Type...);
};
#define ROBUSTA_SAME(member, function) \
  static_assert(std::is_same_v<Theirs<decltype(NcclApi::member)>::Type, decltype(&function)>)
ROBUSTA_SAME(get_version, ncclGetVersion);
ROBUSTA_SAME(get_unique_id, ncclGetUniqueId);
ROBUSTA_SAME(comm_init_rank_config, ncclCommInitRankConfig);
ROBUSTA_SAME(comm_finalize, ncclCommFinalize);
ROBUSTA_SAME(comm_destroy, ncclCommDestroy);
ROBUSTA_SAME(comm_abort, ncclCommAbort);
ROBUSTA_SAME(comm_get_async_error, ncclCommGetAsyncError);
ROBUSTA_SAME(get_error_string, ncclGetErrorString);
ROBUSTA_SAME(get_last_error, ncclGetLastError);
ROBUSTA_SAME(all_reduce, ncclAllReduce);
ROBUSTA_SAME(reduce_scatter, ncclReduceScatter);
ROBUSTA_SAME(all_gather, ncclAllGather);
ROBUSTA_SAME(reduce, ncclReduce);
ROBUSTA_SAME(broadcast, ncclBroadcast);
#undef ROBUSTA_SAME

}  // namespace
}  // namespace robusta
#endif
