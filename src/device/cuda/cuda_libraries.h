/// cuBLAS and cuDNN: linked, or, in a build with ROBUSTA_CUDA_LATE, found by name when a GPU is used.
///
/// Both take hundreds of megabytes, and a wheel serves machines without GPUs, too. In such a build the names below are
/// those of this file's namespace; base/late_library.h says how that works.
#pragma once

#include <cublas_v2.h>
#include <cudnn.h>

#include <string>

namespace robusta {

/// The folder that cuBLAS was loaded from; "" where it is not to be had.
std::string folder_of_cublas();

}  // namespace robusta

#ifdef ROBUSTA_CUDA_LATE
#include "base/late_library.h"

namespace robusta {

/// Address of a symbol. Throws Error{kDevice} where the library or the symbol is not on this machine.
void* find_in_cublas(const char* symbol);
void* find_in_cudnn(const char* symbol);

#define ROBUSTA_CUBLAS_FUNCTION(name) ROBUSTA_LATE_FUNCTION(find_in_cublas, name)
ROBUSTA_CUBLAS_FUNCTION(cublasCreate);
ROBUSTA_CUBLAS_FUNCTION(cublasDestroy);
ROBUSTA_CUBLAS_FUNCTION(cublasGemmEx_64);
ROBUSTA_CUBLAS_FUNCTION(cublasGetProperty);
ROBUSTA_CUBLAS_FUNCTION(cublasGetStatusString);
ROBUSTA_CUBLAS_FUNCTION(cublasSetMathMode);
ROBUSTA_CUBLAS_FUNCTION(cublasSetStream);
ROBUSTA_CUBLAS_FUNCTION(cublasSetWorkspace);
ROBUSTA_CUBLAS_FUNCTION(cublasSgemm_64);
#undef ROBUSTA_CUBLAS_FUNCTION

#define ROBUSTA_CUDNN_FUNCTION(name) ROBUSTA_LATE_FUNCTION(find_in_cudnn, name)
ROBUSTA_CUDNN_FUNCTION(cudnnBackendCreateDescriptor);
ROBUSTA_CUDNN_FUNCTION(cudnnBackendDestroyDescriptor);
ROBUSTA_CUDNN_FUNCTION(cudnnBackendExecute);
ROBUSTA_CUDNN_FUNCTION(cudnnBackendFinalize);
ROBUSTA_CUDNN_FUNCTION(cudnnBackendGetAttribute);
ROBUSTA_CUDNN_FUNCTION(cudnnBackendSetAttribute);
ROBUSTA_CUDNN_FUNCTION(cudnnCreate);
ROBUSTA_CUDNN_FUNCTION(cudnnDestroy);
ROBUSTA_CUDNN_FUNCTION(cudnnGetErrorString);
ROBUSTA_CUDNN_FUNCTION(cudnnGetLastErrorString);
ROBUSTA_CUDNN_FUNCTION(cudnnGetProperty);
ROBUSTA_CUDNN_FUNCTION(cudnnGetVersion);
ROBUSTA_CUDNN_FUNCTION(cudnnSetStream);
#undef ROBUSTA_CUDNN_FUNCTION

}  // namespace robusta
#endif
