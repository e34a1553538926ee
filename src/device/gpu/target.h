/// One source, two targets.
///
/// Files named *_gpu.cpp hold what runs on a GPU, files named *_formula.cpp what runs everywhere. nvcc compiles them
/// into kernels of kind "cuda"; the host's compiler compiles the same files into kernels of kind "emulated", which run
/// on host memory in plain loops, so that what they compute is tested where there is no GPU. Only the few primitives
/// below this folder, and kernels that call NVIDIA's libraries, differ. What such a file shares by a header lies in
/// `inline namespace ROBUSTA_GPU_TARGET`: the two compilations end up in one program. An unnamed namespace lies beside
/// that, never within: files are also compiled in groups, and nvcc then takes the two unnamed ones for one.
///
/// Files named *_cuda.cpp are compiled once, by the host's compiler with ROBUSTA_CUDA_CALLER defined: they call
/// NVIDIA's libraries and what nvcc's compilation offers in such headers, and launch no kernels themselves. A test
/// defines ROBUSTA_GPU_THREADS and runs the primitives' kernels on the host (launch.h).
#pragma once

#ifdef __CUDACC__
#define ROBUSTA_GPU __host__ __device__
#define ROBUSTA_GPU_TARGET cuda_target
#elif defined(ROBUSTA_GPU_THREADS)
#define ROBUSTA_GPU
#define ROBUSTA_GPU_TARGET threads_target
#elif defined(ROBUSTA_CUDA_CALLER)
#define ROBUSTA_GPU
#define ROBUSTA_GPU_TARGET cuda_target
#else
#define ROBUSTA_GPU
#define ROBUSTA_GPU_TARGET emulated_target
#endif

/// Before a loop whose iterations should be under way together (the first: all of them, so that arrays which these
/// index are registers), and before one whose body is long enough.
#ifdef __CUDA_ARCH__
#define ROBUSTA_UNROLL _Pragma("unroll")
#define ROBUSTA_UNROLL_4 _Pragma("unroll 4")
#define ROBUSTA_UNROLL_BY(times) _Pragma(ROBUSTA_AS_TEXT(unroll times))
#define ROBUSTA_AS_TEXT(words) #words
#define ROBUSTA_NO_UNROLL _Pragma("unroll 1")
#else
#define ROBUSTA_UNROLL
#define ROBUSTA_UNROLL_4
#define ROBUSTA_UNROLL_BY(times)
#define ROBUSTA_NO_UNROLL
#endif

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// Of the kernels that this compilation makes (KernelCandidate::device).
#if defined(__CUDACC__) || defined(ROBUSTA_CUDA_CALLER)
inline constexpr const char* kGpuKind = "cuda";
#else
inline constexpr const char* kGpuKind = "emulated";
#endif

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
