# Flags every target of the project is compiled with.
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers)
# Two of clang's warnings are off: conditions of loops that are joined without a branch, and structures without a name in a
# union, which GCC accepts, too, are intended.
add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-bitwise-instead-of-logical>
                    $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-nested-anon-types>)
# The planner's decisions depend on the rounding of 32-bit floats: no contraction, no extended precision.
add_compile_options(-ffp-contract=off)

# Debian 13's tinyxml2 asks its users for it, and a precompiled header fits only files compiled with the same flags. It has
# no effect on 64 bits.
add_compile_definitions(_FILE_OFFSET_BITS=64)

set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

# Several files at a time and the headers below, compiled once, take a third of the time of single files. A file that shares
# the name of a helper with another one of its folder needs UNITY_BUILD OFF or SKIP_UNITY_BUILD_INCLUSION. The preset debug
# compiles each file alone and without precompiled headers, so it also shows which #include a file forgot.
option(XYLEM_FAST_BUILD "Compile several files at a time, with precompiled headers" ON)
if(XYLEM_FAST_BUILD)
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 0)
  # Compilers would warn that a name local to one file hides a name local to another one, or that a header has it.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-shadow>
                      $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
endif()

if(XYLEM_SANITIZE)
  add_compile_options(-fsanitize=${XYLEM_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -O1 -g1)
  # Callers of a C interface can give any number for an enumeration: Xylem reports that as an error.
  add_compile_options(-fno-sanitize=enum)
  # Debian's libraries are not what is tested: their headers are compiled without checks, a tenth less work.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    add_compile_options(-fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/cmake/sanitizer_ignorelist.txt)
  endif()
  add_link_options(-fsanitize=${XYLEM_SANITIZE})
  # Programs at fixed addresses: a quarter of the time that one needs to start goes into moving its tables of checks, and tests
  # start thousands.
  add_link_options($<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
  # Code that touches no raw memory needs no checks of its pointers: their alignment follows from their types, and a null pointer
  # ends the program anyway. These checks are a fifth of the work of compiling it.
  option(XYLEM_ALL_CHECKS "Check all pointers, also where there is no raw memory, and leaks of every process" OFF)
  if(NOT XYLEM_ALL_CHECKS)
    set(XYLEM_TYPED_FLAGS -fno-sanitize=null,alignment)
  endif()
  foreach(sanitizer address thread)
    if(XYLEM_SANITIZE MATCHES ${sanitizer})
      string(TOUPPER ${sanitizer} name)
      add_compile_definitions(XYLEM_${name}_SANITIZER)
    endif()
  endforeach()
endif()
if(XYLEM_FUZZ)
  # Assertions stay; debug information has only what a stack trace needs.
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -gline-tables-only")
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
endif()

# GCC clears and copies structures of a hundred bytes with string instructions, which are slow to start.
include(CheckCXXCompilerFlag)
set(strategy unrolled_loop:256:noalign,libcall:-1:noalign)
check_cxx_compiler_flag("-mmemcpy-strategy=${strategy} -mmemset-strategy=${strategy}" XYLEM_HAS_COPY_STRATEGY)
if(XYLEM_HAS_COPY_STRATEGY)
  add_compile_options(-mmemcpy-strategy=${strategy} -mmemset-strategy=${strategy})
endif()

# A small call costs its instructions, which are spread over many files. So the runtime is compiled in a way that allows to
# optimise its files together where a program or library is linked (xylem_link_optimized). Everything else, above all tests,
# links the same files without that: tests replace functions, which only works for calls between files.
option(XYLEM_LTO "Optimise across files when libraries and programs are linked (release builds with GCC)" ON)
set(XYLEM_LINK_OPTIMIZATION OFF)
if(XYLEM_LTO AND CMAKE_BUILD_TYPE STREQUAL "Release" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT XYLEM_SANITIZE)
  set(XYLEM_LINK_OPTIMIZATION ON)
  set(XYLEM_OPTIMIZABLE_FLAGS -flto -ffat-lto-objects -fno-tree-slp-vectorize)
endif()

# The code that writes answers and joins ranks runs rarely: to optimise it takes longer than it would ever win. GCC takes a
# third less time with -Og than with -O1, and half as much as with -O2. Under sanitizers optimising takes three quarters of the
# time of a compilation.
if(XYLEM_SANITIZE)
  set(XYLEM_COLD_FLAGS -O0)
elseif(XYLEM_LINK_OPTIMIZATION)
  set(XYLEM_COLD_FLAGS -O1)
elseif(CMAKE_BUILD_TYPE STREQUAL "Release")
  set(XYLEM_COLD_FLAGS -Og)
endif()

# Link-time optimization needs GCC's own linker; everything else takes a faster one if it is installed.
# (A cross compiler finds mold only under a name of its own.)
include(CheckLinkerFlag)
check_linker_flag(CXX -fuse-ld=mold XYLEM_HAS_MOLD)
set(linker "")
if(XYLEM_HAS_MOLD)
  set(linker -fuse-ld=mold)
endif()
if(XYLEM_LINK_OPTIMIZATION)
  add_link_options($<IF:$<BOOL:$<TARGET_PROPERTY:XYLEM_LINK_OPTIMIZED>>,-flto=auto,-fno-lto$<SEMICOLON>${linker}>)
else()
  add_link_options(${linker})
endif()

# ccache keeps compiled files: the same text with the same flags is not compiled again. It reads the included files from the
# list that the compiler writes anyway, and keeps paths relative to the checkout. Precompiled headers need the two words.
find_program(XYLEM_CCACHE ccache)
if(XYLEM_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_DEPEND=1 CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
      CCACHE_SLOPPINESS=pch_defines,time_macros ${XYLEM_CCACHE})
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
  endif()
endif()
