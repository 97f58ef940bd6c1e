# The kernels for GPUs (src/runtime/gpu): compiled to PTX once, and to machine code for each architecture that the found compiler
# still knows, and with both libxylem-cuda.so, which libxylem loads where its device is a GPU. Nothing else needs nvcc.
#
#   XYLEM_CUDA      AUTO: if nvcc of CUDA 12 or newer is found; ON: it must be; OFF
#   XYLEM_CUDA_ARCHITECTURES   for which architectures, each half a minute; the oldest is that of the PTX
#   gpu_kernels     the target; xylem_gpu_kernels: its folder, with kernel.ptx, and per architecture a .cubin and what ptxas said
set(XYLEM_CUDA AUTO CACHE STRING "Compile the kernels for GPUs: AUTO, ON or OFF")
set(XYLEM_CUDA_ARCHITECTURES 70 75 80 90 100 CACHE STRING "The architectures of GPUs to compile for, oldest first")
set(XYLEM_CUDA_FOUND OFF)
if(NOT XYLEM_CUDA)
  return()
endif()

find_program(XYLEM_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATH_SUFFIXES bin PATHS /usr/local/cuda/bin)
set(reason "no nvcc was found; CUDA_HOME can name its folder")
if(XYLEM_NVCC)
  # --list-gpu-code distinguishes it from Xylem's own stand-in for hosts.
  execute_process(COMMAND ${XYLEM_NVCC} --list-gpu-code OUTPUT_VARIABLE codes ERROR_QUIET RESULT_VARIABLE failed)
  execute_process(COMMAND ${XYLEM_NVCC} --version OUTPUT_VARIABLE version ERROR_QUIET)
  string(REGEX MATCHALL "sm_[0-9]+" codes "${codes}")
  string(REGEX MATCH "release ([0-9]+)\\.([0-9]+)" release "${version}")
  get_filename_component(bin ${XYLEM_NVCC} REALPATH)
  get_filename_component(bin ${bin} DIRECTORY)
  find_program(XYLEM_PTXAS ptxas HINTS ${bin})
  if(failed OR NOT codes OR NOT XYLEM_PTXAS)
    set(reason "${XYLEM_NVCC} does not compile for GPUs")
  elseif(CMAKE_MATCH_1 LESS 12)
    set(reason "${XYLEM_NVCC} is of CUDA ${CMAKE_MATCH_1}; it must be 12 or newer")
  else()
    set(XYLEM_CUDA_FOUND ON)
  endif()
endif()
if(NOT XYLEM_CUDA_FOUND)
  if(XYLEM_CUDA STREQUAL "AUTO")
    message(STATUS "Kernels for GPUs: not compiled, as ${reason}")
    return()
  endif()
  message(FATAL_ERROR "XYLEM_CUDA=${XYLEM_CUDA}: ${reason}")
endif()

# Newer compilers have dropped sm_70: sm_75 is the oldest then.
set(architectures "")
foreach(architecture ${XYLEM_CUDA_ARCHITECTURES})
  if("sm_${architecture}" IN_LIST codes AND NOT (architecture EQUAL 75 AND "70" IN_LIST architectures))
    list(APPEND architectures ${architecture})
  endif()
endforeach()
if(NOT architectures)
  message(FATAL_ERROR "XYLEM_CUDA_ARCHITECTURES=${XYLEM_CUDA_ARCHITECTURES}: ${XYLEM_NVCC} compiles for none of these, but for ${codes}")
endif()
list(GET architectures 0 oldest)
list(JOIN architectures " " listed)
message(STATUS "Kernels for GPUs: compiled for sm ${listed} by ${XYLEM_NVCC} (CUDA ${CMAKE_MATCH_1}.${CMAKE_MATCH_2})")

set(xylem_gpu_kernels ${PROJECT_BINARY_DIR}/gpu_kernels)
file(MAKE_DIRECTORY ${xylem_gpu_kernels})
set(source ${PROJECT_SOURCE_DIR}/src/runtime/gpu/kernel.cu)
set(ptx ${xylem_gpu_kernels}/kernel.ptx)
# As the host computes: no contraction, and subnormal numbers stay.
add_custom_command(OUTPUT ${ptx}
  COMMAND ${XYLEM_NVCC} -std=c++20 -O3 --expt-relaxed-constexpr --fmad=false --ftz=false -ccbin ${CMAKE_CXX_COMPILER}
          -arch=compute_${oldest} -I ${PROJECT_SOURCE_DIR}/src -MD -MF ${ptx}.d -MT gpu_kernels/kernel.ptx
          --ptx -o ${ptx} ${source}
  DEPENDS ${source} DEPFILE ${ptx}.d VERBATIM COMMENT "Compiling the kernels for GPUs")
set(outputs ${ptx})
foreach(architecture ${architectures})
  set(cubin ${xylem_gpu_kernels}/kernel_sm_${architecture}.cubin)
  add_custom_command(OUTPUT ${cubin}
    COMMAND ${XYLEM_PTXAS} -v -O3 --fmad false -arch=sm_${architecture} -o ${cubin} ${ptx} 2> ${cubin}.txt
    DEPENDS ${ptx} COMMENT "Compiling the kernels for sm_${architecture}")
  list(APPEND outputs ${cubin})
endforeach()
add_custom_target(gpu_kernels DEPENDS ${outputs})

# All of them in one file, from which the driver takes what fits its GPU.
find_program(XYLEM_FATBINARY fatbinary HINTS ${bin})
set(image ${xylem_gpu_kernels}/kernel.fatbin)
set(images --image3=kind=ptx,sm=${oldest},file=${ptx})
foreach(architecture ${architectures})
  list(APPEND images --image3=kind=elf,sm=${architecture},file=${xylem_gpu_kernels}/kernel_sm_${architecture}.cubin)
endforeach()
execute_process(COMMAND ${XYLEM_FATBINARY} --help OUTPUT_VARIABLE help ERROR_QUIET)
set(compress --compress-all)
if(help MATCHES "--compress-mode")
  list(APPEND compress --compress-mode=size)
endif()
add_custom_command(OUTPUT ${image} COMMAND ${XYLEM_FATBINARY} -64 ${compress} --create=${image} ${images}
  DEPENDS ${outputs} VERBATIM COMMENT "Packing the kernels for GPUs")
get_filename_component(toolkit ${bin} DIRECTORY)
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/runtime/gpu/cuda/cuda_driver.cc PROPERTIES OBJECT_DEPENDS ${image})
add_library(xylem-cuda MODULE ${PROJECT_SOURCE_DIR}/src/runtime/gpu/cuda/cuda_driver.cc)
set_target_properties(xylem-cuda PROPERTIES CXX_VISIBILITY_PRESET hidden LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/src)
target_compile_definitions(xylem-cuda PRIVATE XYLEM_KERNELS="${image}")
target_include_directories(xylem-cuda PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_include_directories(xylem-cuda SYSTEM PRIVATE ${toolkit}/include)
target_link_libraries(xylem-cuda PRIVATE fmt::fmt ${CMAKE_DL_LIBS})
# So a process that has loaded it, from wherever, finds it by this name.
target_link_options(xylem-cuda PRIVATE LINKER:-soname,libxylem-cuda.so)
install(TARGETS xylem-cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
