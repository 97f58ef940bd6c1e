# A tree of the shape of CUDA's and NCCL's, for Makefiles that take CUDA_HOME or NCCL_HOME and for CMake's
# FindCUDAToolkit: links to the installed headers, libraries and xylem-cc, relative to the tree, which can be moved
# with the prefix.

set(XYLEM_CUDA_HOME ${CMAKE_INSTALL_DATADIR}/xylem/cuda-home)
set(tree ${PROJECT_BINARY_DIR}/cuda-home)
file(REMOVE_RECURSE ${tree})
file(MAKE_DIRECTORY ${tree}/bin ${tree}/include ${tree}/lib64/pkgconfig)
file(RELATIVE_PATH tree_to_prefix /${XYLEM_CUDA_HOME} /)
string(REGEX REPLACE "/$" "" tree_to_prefix ${tree_to_prefix})

file(CREATE_LINK ../${tree_to_prefix}/${CMAKE_INSTALL_BINDIR}/xylem-cc ${tree}/bin/nvcc SYMBOLIC)

set(headers ../${tree_to_prefix}/${XYLEM_INSTALL_NCCLDIR})
foreach(name nccl.h nccl_common.h nccl_net.h nccl_tuner.h nccl_profiler.h nccl_env.h host)
  file(CREATE_LINK ${headers}/${name} ${tree}/include/${name} SYMBOLIC)
endforeach()
file(CREATE_LINK ${headers}/host/nvtx3 ${tree}/include/nvtx3 SYMBOLIC)
file(GLOB names RELATIVE ${PROJECT_SOURCE_DIR}/include/host CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/host/*.h)
foreach(name ${names})
  file(CREATE_LINK ${headers}/host/${name} ${tree}/include/${name} SYMBOLIC)
endforeach()

set(libraries ../${tree_to_prefix}/${CMAKE_INSTALL_LIBDIR})
foreach(name xylem nccl cudart cuda)
  file(CREATE_LINK ${libraries}/libxylem.so ${tree}/lib64/lib${name}.so SYMBOLIC)
endforeach()
file(CREATE_LINK ${libraries}/libxylem.so.${PROJECT_VERSION_MAJOR} ${tree}/lib64/libxylem.so.${PROJECT_VERSION_MAJOR} SYMBOLIC)
file(CREATE_LINK ${libraries}/xylem/as-nccl/libnvidia-ml.so.1 ${tree}/lib64/libnvidia-ml.so SYMBOLIC)
file(CREATE_LINK ${libraries}/xylem/as-nccl/libnvidia-ml.so.1 ${tree}/lib64/libnvidia-ml.so.1 SYMBOLIC)
# The linker reads these as scripts: there is one library, which is shared.
file(WRITE ${tree}/lib64/libcudart_static.a "INPUT(-lcudart)\n")
file(WRITE ${tree}/lib64/libnccl_static.a "INPUT(-lnccl)\n")
file(WRITE ${tree}/lib64/libcudadevrt.a "!<arch>\n")
file(CREATE_LINK . ${tree}/lib64/stubs SYMBOLIC)
file(CREATE_LINK lib64 ${tree}/lib SYMBOLIC)
# CMake knows the root of a toolkit by this folder, which has the devices' own functions elsewhere.
file(MAKE_DIRECTORY ${tree}/nvvm/libdevice)

file(STRINGS ${PROJECT_SOURCE_DIR}/include/host/cuda_runtime_api.h version REGEX "define CUDART_VERSION")
string(REGEX MATCH "[0-9]+$" version ${version})
math(EXPR major "${version} / 1000")
math(EXPR minor "${version} % 1000 / 10")
set(XYLEM_CUDA_MAJOR ${major})
set(XYLEM_CUDA_MINOR ${minor})
set(XYLEM_CUDA_VERSION ${major}.${minor})
file(WRITE ${tree}/version.json "{\"cuda\": {\"name\": \"Xylem's host devices\", \"version\": \"${XYLEM_CUDA_VERSION}.0\"}}\n")
file(STRINGS ${PROJECT_SOURCE_DIR}/include/nccl.h version REGEX "define NCCL_(MAJOR|MINOR|PATCH) ")
string(REGEX MATCHALL "[0-9]+" version "${version}")
string(JOIN . XYLEM_NCCL_VERSION ${version})
foreach(name nccl cudart)
  configure_file(cmake/${name}.pc.in ${tree}/lib64/pkgconfig/${name}.pc @ONLY)
endforeach()

install(DIRECTORY ${tree} DESTINATION ${CMAKE_INSTALL_DATADIR}/xylem COMPONENT dev)
