# A folder of libraries under the names that programs built for NCCL and CUDA 12 ask the loader for. Each is a file of its
# own, as some programs look for these names among the mapped files, and has nothing but a dependency on libxylem.so, so
# that all have the same streams and memory. The folder is on no path by default.

set(XYLEM_DROP_IN ${CMAKE_INSTALL_LIBDIR}/xylem/as-nccl)
set(empty ${PROJECT_BINARY_DIR}/as-nccl/empty.cc)
file(WRITE ${empty} "namespace {}\n")
# The loader compares the versions of names that binaries ask of libcudart.
file(WRITE ${PROJECT_BINARY_DIR}/as-nccl/cudart.map "libcudart.so.12 {};\n")
foreach(entry nccl.2 cudart.12 cuda.1 nvidia-ml.1)
  string(REPLACE . ";" entry ${entry})
  list(GET entry 0 name)
  list(GET entry 1 version)
  add_library(as-${name} SHARED ${empty})
  target_link_libraries(as-${name} PRIVATE xylem-shared)
  target_link_options(as-${name} PRIVATE LINKER:--no-as-needed)
  set_target_properties(as-${name} PROPERTIES OUTPUT_NAME ${name} SOVERSION ${version} INSTALL_RPATH "$ORIGIN/../.."
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/as-nccl)
  add_dependencies(installable as-${name})
endforeach()
# This one has functions of its own, which call CUDA's.
target_sources(as-nvidia-ml PRIVATE $<TARGET_OBJECTS:module_nvml>)
target_link_options(as-cudart PRIVATE LINKER:--version-script=${PROJECT_BINARY_DIR}/as-nccl/cudart.map)
install(TARGETS as-nccl as-cudart as-cuda as-nvidia-ml LIBRARY DESTINATION ${XYLEM_DROP_IN} COMPONENT library NAMELINK_COMPONENT library)
