# The Debian packages that `cpack` makes of what xylem_install.cmake installs, by component:
#   libxylem0     the shared libraries              library
#   xylem         the command, its manual, the zoo  runtime
#   libxylem-dev  headers, CMake and pkg-config     dev
#   xylem-doc     the documentation and examples    doc
#   python3-xylem the Python package, where built   python
# dpkg-shlibdeps reads their dependencies from the binaries. tests/install/check_packages.sh installs them into an empty
# root.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME xylem)
set(CPACK_PACKAGE_VENDOR Xylem)
set(CPACK_PACKAGE_CONTACT "The Xylem authors")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${CPACK_PACKAGE_CONTACT}")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
get_cmake_property(CPACK_COMPONENTS_ALL COMPONENTS)
list(REMOVE_ITEM CPACK_COMPONENTS_ALL Unspecified)

set(library_package libxylem${PROJECT_VERSION_MAJOR})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME ${library_package})
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "collective communication with NCCL's API, on any machine: shared libraries
 Programs written for NCCL run on host memory with libxylem, between threads,
 processes and hosts. libxylem-plan has NCCL's topology planner alone.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_GENERATE_SHLIBS ON)

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME xylem)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION net)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS "xylem-doc, openssh-client")
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "collective communication with NCCL's API, on any machine: the command
 xylem plans what NCCL would do on a cluster and says why, runs and measures
 collectives, starts ranks and says what they wait for. No GPU is needed.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libxylem-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "${library_package} (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_DEV_DESCRIPTION "collective communication with NCCL's API, on any machine: development files
 Headers (nccl.h and the CUDA runtime's for host devices, the planner, the
 launchers' interface), and what CMake and pkg-config need to find them.")

set(CPACK_DEBIAN_DOC_PACKAGE_NAME xylem-doc)
set(CPACK_DEBIAN_DOC_PACKAGE_SECTION doc)
set(CPACK_DEBIAN_DOC_PACKAGE_ARCHITECTURE all)
# CPack would look which libraries each file of documentation or for developers needs: none does.
set(CPACK_DEBIAN_DOC_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_COMPONENT_DOC_DESCRIPTION "collective communication with NCCL's API, on any machine: documentation
 Tutorials, explanations and examples.")

if(XYLEM_WITH_PYTHON)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-xylem)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
  # dpkg-shlibdeps would read all of torch, which takes minutes.
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS OFF)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3, libfmt9, libsodium23, libtinyxml2-9")
  set(CPACK_COMPONENT_PYTHON_DESCRIPTION "${PROJECT_DESCRIPTION} (Python)")
  if(XYLEM_WITH_TORCH)
    set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS "python3-torch (>= 1.13), python3-torch (<< 1.14)")
  endif()
endif()
include(CPack)
