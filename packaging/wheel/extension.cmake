# The extension of a wheel holds the library itself, and asks of the machine nothing that glibc 2.28 has not.
set(here ${PROJECT_SOURCE_DIR}/packaging/wheel)
target_sources(robusta_python PRIVATE ${here}/glibc_2_28.c)
target_link_libraries(robusta_python PRIVATE robusta_engine)
# The program `caffe`, as a function that a script calls.
target_sources(robusta_python PRIVATE ${here}/program.cpp ${here}/no_unwind.c $<TARGET_OBJECTS:robusta_app>)
target_include_directories(robusta_python_bindings PRIVATE ${here})
target_compile_definitions(robusta_python_bindings PRIVATE ROBUSTA_PROGRAM)
if(ROBUSTA_HAS_CUDA)
  if(NOT CUDAToolkit_VERSION_MAJOR EQUAL 13)
    message(FATAL_ERROR "pyproject.toml names the packages of CUDA 13 (cuda), and the toolkit is ${CUDAToolkit_VERSION}: "
                        "change both, or build with -DROBUSTA_CUDA=OFF")
  endif()
  target_link_libraries(robusta_python PRIVATE robusta_gpu)
  # Where NVIDIA's packages put them, beside this one.
  set(libraries_of_nvidia "$ORIGIN/../nvidia/cu13/lib;$ORIGIN/../nvidia/cudnn/lib;$ORIGIN/../nvidia/nccl/lib")
endif()
find_library(ROBUSTA_GLOG_ARCHIVE libglog.a REQUIRED)
find_library(ROBUSTA_GFLAGS_ARCHIVE libgflags.a REQUIRED)
target_link_libraries(robusta_python PRIVATE ${ROBUSTA_GLOG_ARCHIVE} ${ROBUSTA_GFLAGS_ARCHIVE})
install(DIRECTORY ${here}/robusta_caffe DESTINATION ${ROBUSTA_PYTHON_DIR} COMPONENT python)
# What -lc and its like find. g++'s own libstdc++ goes into the extension: it is newer than that of most systems.
target_link_directories(robusta_python BEFORE PRIVATE ${ROBUSTA_WHEEL}/glibc ${ROBUSTA_WHEEL}/lib)
target_link_libraries(robusta_python PRIVATE pthread dl rt m)
set(exports ${here}/exports.map)
target_link_options(robusta_python PRIVATE -static-libstdc++ LINKER:--version-script=${exports} LINKER:--as-needed
                                           LINKER:--gc-sections)
# Without the folder of the stubs in it, in the build folder neither: they are no libraries to run with.
set_target_properties(robusta_python PROPERTIES LINK_DEPENDS ${exports} INSTALL_RPATH "${libraries_of_nvidia}" BUILD_WITH_INSTALL_RPATH ON)
if(SKBUILD)  # scikit-build-core: where the wheel's metadata is made
  install(DIRECTORY ${ROBUSTA_WHEEL}/licenses DESTINATION ${SKBUILD_METADATA_DIR} COMPONENT python)
endif()
