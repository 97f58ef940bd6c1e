# A folder of libraries under the names that programs built for NCCL and CUDA ask the loader for. Each is a file of its
# own, as some programs look for these names among the mapped files, and depends on libxylem.so, so that all have the same
# streams and memory. The folder is on no path by default.

set(XYLEM_DROP_IN ${CMAKE_INSTALL_LIBDIR}/xylem/as-nccl)
set(empty ${PROJECT_BINARY_DIR}/as-nccl/empty.cc)
file(WRITE ${empty} "namespace {}\n")
set(all)
foreach(entry nccl.2 cudart.12 cudart.13 cuda.1 nvidia-ml.1)
  string(REPLACE . ";" parts ${entry})
  list(GET parts 0 name)
  list(GET parts 1 version)
  set(library as-${name}-${version})
  add_library(${library} SHARED ${empty})
  target_link_libraries(${library} PRIVATE xylem-shared)
  target_link_options(${library} PRIVATE LINKER:--no-as-needed)
  # The file is libNAME.so.VERSION, and its SONAME.
  set_target_properties(${library} PROPERTIES OUTPUT_NAME ${name} SUFFIX .so.${version} INSTALL_RPATH "$ORIGIN/../.."
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/as-nccl)
  add_dependencies(installable ${library})
  list(APPEND all ${library})
endforeach()
# The loader compares the versions of names that binaries ask of libcudart.
foreach(version 12 13)
  set(map ${PROJECT_BINARY_DIR}/as-nccl/cudart.${version}.map)
  file(WRITE ${map} "libcudart.so.${version} { global: cuda*; local: *; };\n")
  target_link_options(as-cudart-${version} PRIVATE LINKER:--version-script=${map})
endforeach()
# These have functions of their own, which call libxylem's.
target_sources(as-nvidia-ml-1 PRIVATE $<TARGET_OBJECTS:module_nvml>)
target_sources(as-cudart-13 PRIVATE $<TARGET_OBJECTS:module_cudart13>)
# Plugins open some of them without a number.
foreach(link nccl.so.2 cudart.so.12 cuda.so.1 nvidia-ml.so.1)
  string(REGEX REPLACE "[.][0-9]+$" "" name ${link})
  file(CREATE_LINK lib${link} ${PROJECT_BINARY_DIR}/as-nccl/lib${name} SYMBOLIC)
  install(FILES ${PROJECT_BINARY_DIR}/as-nccl/lib${name} DESTINATION ${XYLEM_DROP_IN} COMPONENT library)
endforeach()
install(TARGETS ${all} LIBRARY DESTINATION ${XYLEM_DROP_IN} COMPONENT library)

# For programs on NVIDIA's GPUs: NCCL's functions alone, as these programs have NVIDIA's CUDA libraries. It contains what libxylem.so
# does, of which the CUDA runtime for host devices stays inside, and finds libxylem-cuda.so two folders above.
if(XYLEM_CUDA_FOUND)
  set(map ${PROJECT_BINARY_DIR}/as-nccl/nccl-gpu.map)
  file(WRITE ${map} "{ global: nccl*; pnccl*; local: *; };\n")
  add_library(as-nccl-gpu SHARED ${PROJECT_SOURCE_DIR}/src/runtime/gpu/cuda/for_gpus.cc)
  target_link_libraries(as-nccl-gpu PRIVATE "$<LINK_LIBRARY:WHOLE_ARCHIVE,xylem-static>")
  target_link_options(as-nccl-gpu PRIVATE LINKER:--version-script=${map})
  set_target_properties(as-nccl-gpu PROPERTIES OUTPUT_NAME nccl SUFFIX .so.2
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/src/gpu/as-nccl-gpu)
  add_dependencies(as-nccl-gpu xylem-cuda)
  add_dependencies(installable as-nccl-gpu)
  install(TARGETS as-nccl-gpu LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/xylem/as-nccl-gpu COMPONENT library)
endif()
