# Finds oneDNN, 2.6 or later, and sets robusta_onednn, its library, and robusta_onednn_include, the folder of its
# headers. Its own CMake package is left alone: it wants OpenCL's development files, which only its GPU side needs.
#
# Debian's lies where the compiler looks. One of another generation is a folder of its own (scripts/get_onednn.sh makes
# one), and must not be taken together with the headers of Debian's.
set(ROBUSTA_ONEDNN "" CACHE PATH "oneDNN: a folder with its include/ and lib/, or its library; empty: the system's")
set(ROBUSTA_ONEDNN_INCLUDE "" CACHE PATH "Headers of oneDNN; empty: those that belong to ROBUSTA_ONEDNN")
if(NOT ROBUSTA_ONEDNN)
  find_library(robusta_onednn dnnl NO_CACHE)
  find_path(robusta_onednn_include dnnl.hpp NO_CACHE)
elseif(IS_DIRECTORY "${ROBUSTA_ONEDNN}")
  find_library(robusta_onednn dnnl PATHS "${ROBUSTA_ONEDNN}" PATH_SUFFIXES lib lib64 NO_DEFAULT_PATH NO_CACHE)
  find_path(robusta_onednn_include dnnl.hpp PATHS "${ROBUSTA_ONEDNN}/include" NO_DEFAULT_PATH NO_CACHE)
elseif(EXISTS "${ROBUSTA_ONEDNN}")
  set(robusta_onednn "${ROBUSTA_ONEDNN}")
  get_filename_component(folder "${ROBUSTA_ONEDNN}" DIRECTORY)
  find_path(robusta_onednn_include dnnl.hpp HINTS "${folder}/../include" "${folder}/../../include" NO_CACHE)
endif()
if(ROBUSTA_ONEDNN_INCLUDE AND NOT IS_DIRECTORY "${ROBUSTA_ONEDNN}")
  set(robusta_onednn_include "${ROBUSTA_ONEDNN_INCLUDE}")
endif()
if(NOT robusta_onednn OR NOT EXISTS "${robusta_onednn_include}/dnnl.hpp")
  if(ROBUSTA_ONEDNN)
    message(FATAL_ERROR "No library and headers of oneDNN were found at ROBUSTA_ONEDNN, ${ROBUSTA_ONEDNN}: name a "
                        "folder with lib/libdnnl.so and include/dnnl.hpp, or none to take the system's")
  endif()
  message(FATAL_ERROR "oneDNN was not found: install libdnnl-dev, or name its folder by ROBUSTA_ONEDNN")
endif()

# The headers' version, and the generation that programs will ask the library for.
foreach(part MAJOR MINOR PATCH)
  file(STRINGS "${robusta_onednn_include}/oneapi/dnnl/dnnl_version.h" line REGEX "define DNNL_VERSION_${part} ")
  string(REGEX REPLACE ".*DNNL_VERSION_${part} +" "" onednn_${part} "${line}")
endforeach()
set(onednn_version ${onednn_MAJOR}.${onednn_MINOR}.${onednn_PATCH})
if(onednn_version VERSION_LESS 2.6)  # what Debian 12 has
  message(FATAL_ERROR "oneDNN ${onednn_version} in ${robusta_onednn_include} is too old: name 2.6 or later by ROBUSTA_ONEDNN")
endif()
execute_process(COMMAND ${CMAKE_OBJDUMP} -p "${robusta_onednn}" OUTPUT_VARIABLE headers ERROR_QUIET)
if(headers MATCHES "SONAME +libdnnl\\.so\\.([0-9]+)" AND NOT CMAKE_MATCH_1 EQUAL onednn_MAJOR)
  message(FATAL_ERROR "The headers in ${robusta_onednn_include} are of oneDNN ${onednn_version}, but ${robusta_onednn} is "
                      "oneDNN ${CMAKE_MATCH_1}: name one folder that has both by ROBUSTA_ONEDNN, or that of the headers "
                      "by ROBUSTA_ONEDNN_INCLUDE")
endif()
message(STATUS "oneDNN ${onednn_version}: ${robusta_onednn}")

# Where it lies in a folder of its own: what is installed finds it there, too.
get_filename_component(folder "${robusta_onednn}" DIRECTORY)
if(NOT folder IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
  list(APPEND CMAKE_INSTALL_RPATH "${folder}")
endif()
