# The libraries of a wheel, before CMakeLists.txt looks for them: Debian's archives, which become a part of the extension,
# and from ROBUSTA_WHEEL, the folder that inputs.sh has filled, those that Debian has not in a form for this.
function(robusta_archive variable name)
  find_library(${variable} NAMES lib${name}.a PATH_SUFFIXES openblas-openmp REQUIRED)
endfunction()
robusta_archive(JPEG_LIBRARY_RELEASE jpeg)
robusta_archive(PNG_LIBRARY_RELEASE png16)
robusta_archive(ROBUSTA_LMDB lmdb)
robusta_archive(ROBUSTA_OPENBLAS openblas)
robusta_archive(ROBUSTA_WEBP_LIBRARY webp)
robusta_archive(ZLIB_LIBRARY_RELEASE z)
set(OpenMP_gomp_LIBRARY ${ROBUSTA_WHEEL}/lib/libgomp.so CACHE FILEPATH "")
set(OpenMP_pthread_LIBRARY ${ROBUSTA_WHEEL}/glibc/libpthread.so CACHE FILEPATH "")
set(Protobuf_LIBRARY_RELEASE ${ROBUSTA_WHEEL}/lib/libprotobuf.a CACHE FILEPATH "")
set(ROBUSTA_ONEDNN ${ROBUSTA_WHEEL}/onednn CACHE PATH "")
# Code for Hopper, and text that drivers compile for all from Turing on.
if(NOT ROBUSTA_CUDA_ARCHITECTURES)
  set(ROBUSTA_CUDA_ARCHITECTURES "75-virtual;90-real")
endif()
