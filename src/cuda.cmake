# Finds what the GPU backend needs and sets ROBUSTA_HAS_CUDA: the toolkit with cuBLAS, and cuDNN 9. NCCL is found when the
# program runs.
set(ROBUSTA_HAS_CUDA OFF)

function(robusta_need_cuda what)
  if(ROBUSTA_CUDA STREQUAL "AUTO")
    message(STATUS "CUDA: not used (${what} not found); -gpu will say so")
  else()
    message(FATAL_ERROR "ROBUSTA_CUDA is ON, and ${what} was not found")
  endif()
endfunction()

# Machine code for the GPU of this machine, or, where there is none, for compute capability 9.0.
function(robusta_default_architectures result)
  set(${result} 90 PARENT_SCOPE)
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader OUTPUT_VARIABLE found ERROR_QUIET
                  RESULT_VARIABLE failed)
  if(NOT failed AND found MATCHES "^([0-9]+)\\.([0-9]+)")
    set(${result} ${CMAKE_MATCH_1}${CMAKE_MATCH_2} PARENT_SCOPE)
  endif()
endfunction()

# Folders of cuDNN in packages of Python, as PyTorch brings them along. They lack the name libcudnn.so.
function(robusta_python_cudnn result)
  set(script "import sys; print(';'.join(p + '/nvidia/cudnn' for p in sys.path if p.endswith('-packages')))")
  execute_process(COMMAND python3 -c "${script}" OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE
                  ERROR_QUIET)
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

# The version that the headers of cuDNN name: 9.
function(robusta_cudnn_major result)
  set(${result} "" PARENT_SCOPE)
  if(EXISTS ${ROBUSTA_CUDNN_INCLUDE}/cudnn_version.h)
    file(STRINGS ${ROBUSTA_CUDNN_INCLUDE}/cudnn_version.h line REGEX "define CUDNN_MAJOR ")
    string(REGEX REPLACE ".*CUDNN_MAJOR +" "" line "${line}")
    set(${result} "${line}" PARENT_SCOPE)
  endif()
endfunction()

macro(robusta_find_cuda)
  find_package(CUDAToolkit QUIET)
  robusta_python_cudnn(cudnn_packages)
  find_path(ROBUSTA_CUDNN_INCLUDE cudnn_backend.h HINTS ${CUDAToolkit_INCLUDE_DIRS} PATHS ${cudnn_packages}
            PATH_SUFFIXES include)
  find_library(ROBUSTA_CUDNN NAMES cudnn libcudnn.so.9 HINTS ${CUDAToolkit_LIBRARY_DIR} PATHS ${cudnn_packages}
               PATH_SUFFIXES lib)
  robusta_cudnn_major(cudnn_major)
  if(NOT CUDAToolkit_FOUND OR NOT CUDAToolkit_NVCC_EXECUTABLE)
    robusta_need_cuda("the CUDA toolkit")
  elseif(NOT TARGET CUDA::cublas OR NOT TARGET CUDA::cudart_static)
    robusta_need_cuda("cuBLAS, as a part of the CUDA toolkit in ${CUDAToolkit_LIBRARY_DIR},")
  elseif(NOT ROBUSTA_CUDNN OR NOT cudnn_major EQUAL 9)
    robusta_need_cuda("cuDNN 9, to be named by ROBUSTA_CUDNN and ROBUSTA_CUDNN_INCLUDE,")
  else()
    set(ROBUSTA_HAS_CUDA ON)
    if(NOT ROBUSTA_CUDA_ARCHITECTURES)
      robusta_default_architectures(ROBUSTA_CUDA_ARCHITECTURES)
    endif()
    set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE})
    set(CMAKE_CUDA_ARCHITECTURES ${ROBUSTA_CUDA_ARCHITECTURES})
    if(ROBUSTA_CCACHE AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
      set(CMAKE_CUDA_COMPILER_LAUNCHER ${ROBUSTA_CCACHE})
    endif()
    enable_language(CUDA)
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
      # CMake 3.25 does not know that nvcc has C++20 since its version 12.
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
    endif()
    set(CMAKE_CUDA_STANDARD 20)
    message(STATUS "CUDA: toolkit ${CUDAToolkit_VERSION}, code for ${ROBUSTA_CUDA_ARCHITECTURES}")
    message(STATUS "cuDNN: ${ROBUSTA_CUDNN}")
  endif()
endmacro()

if(ROBUSTA_CUDA)
  robusta_find_cuda()
endif()
