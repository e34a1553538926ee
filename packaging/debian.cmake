# `cpack -G DEB`: one package with programs, library and headers. Debian's own Caffe has programs of the same names.
set(CPACK_PACKAGE_NAME robusta)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The Robusta developers <robusta@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "trains, tests and times Caffe nets")
set(CPACK_PACKAGE_DESCRIPTION
    "Robusta speaks Caffe's prototxt, .caffemodel and command line. It holds the program caffe,
its tools, and librobusta with headers for C++ and C.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
if(ROBUSTA_OPENBLAS_FOLDER)
  # Else apt takes the build with threads of its own.
  set(CPACK_DEBIAN_PACKAGE_DEPENDS libopenblas0-openmp)
endif()
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "python3, openmpi-bin")
set(CPACK_DEBIAN_PACKAGE_CONFLICTS "caffe-cpu, caffe-cuda, caffe-tools-cpu, caffe-tools-cuda")
include(CPack)
