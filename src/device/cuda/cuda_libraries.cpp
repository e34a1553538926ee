// The libraries whose headers this was compiled with: a soname stands for a binary interface.

#include "device/cuda/cuda_libraries.h"

#include <dlfcn.h>

#include <array>

#include "robusta/error.h"

namespace robusta {
namespace {

/// The folder of the library that a function is in.
std::string folder_of(const void* function) {
  Dl_info info;
  if (!function || dladdr(function, &info) == 0) return "";
  const std::string library = info.dli_fname;
  return library.substr(0, library.rfind('/'));
}

}  // namespace

#ifdef ROBUSTA_CUDA_LATE
namespace {

/// Packages of Python that lie beside the one that this library is in are looked through, too (its RUNPATH).
LateLibrary load(const char* soname, const char* probe) {
  return LateLibrary(
      std::array{std::string(soname)},
      {.kind = ErrorKind::kDevice,
       .user = "GPUs need",
       .fix = "install NVIDIA's libraries beside this module (pip install 'robusta-caffe[cuda]'), or name "
              "the folder that has them in LD_LIBRARY_PATH",
       .probe = probe});
}

}  // namespace

void* find_in_cublas(const char* symbol) {
  static const LateLibrary library = load(ROBUSTA_CUBLAS_SONAME, "cublasCreate_v2");
  return library.find(symbol);
}

void* find_in_cudnn(const char* symbol) {
  static const LateLibrary library = load(ROBUSTA_CUDNN_SONAME, "cudnnCreate");
  return library.find(symbol);
}

std::string folder_of_cublas() try { return folder_of(find_in_cublas("cublasCreate_v2")); } catch (const Error&) {
  return "";
}
#else
std::string folder_of_cublas() { return folder_of(reinterpret_cast<const void*>(&cublasCreate)); }
#endif

}  // namespace robusta
