# Flags every target of the project is compiled with.
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers)
# The planner's decisions depend on the rounding of 32-bit floats: no contraction, no extended precision.
add_compile_options(-ffp-contract=off)

set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

if(CMAKE_UNITY_BUILD)
  # Of what is local to a file that is compiled along with others GCC says that a header has it.
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
endif()

if(XYLEM_SANITIZE)
  # Several files at a time, which more than halves the time of such a build. Files that share the name of a helper with
  # their neighbours are built alone (UNITY_BUILD OFF, SKIP_UNITY_BUILD_INCLUSION).
  set(CMAKE_UNITY_BUILD ON)
  add_compile_options(-fsanitize=${XYLEM_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -O1 -g1)
  # Callers of a C interface can give any number for an enumeration: that is an error to report, not ours.
  add_compile_options(-fno-sanitize=enum)
  add_link_options(-fsanitize=${XYLEM_SANITIZE})
  foreach(sanitizer address thread)
    if(XYLEM_SANITIZE MATCHES ${sanitizer})
      string(TOUPPER ${sanitizer} name)
      add_compile_definitions(XYLEM_${name}_SANITIZER)
    endif()
  endforeach()
endif()
if(XYLEM_FUZZ)
  # Assertions stay; of debug information, what a stack trace needs.
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -gline-tables-only")
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
endif()

# GCC clears and copies structures of a hundred bytes with string instructions, which take longer to start than that.
include(CheckCXXCompilerFlag)
set(strategy unrolled_loop:256:noalign,libcall:-1:noalign)
check_cxx_compiler_flag("-mmemcpy-strategy=${strategy} -mmemset-strategy=${strategy}" XYLEM_HAS_COPY_STRATEGY)
if(XYLEM_HAS_COPY_STRATEGY)
  add_compile_options(-mmemcpy-strategy=${strategy} -mmemset-strategy=${strategy})
endif()

# Small calls cost what their instructions cost, which lie in many files: those of the runtime are compiled so that they
# can be optimised together where a program or library is linked (xylem_link_optimized). Everything else, tests above
# all, links the same files as they are: tests put themselves between functions, which takes a call between files.
set(XYLEM_LINK_OPTIMIZATION OFF)
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT XYLEM_SANITIZE)
  set(XYLEM_LINK_OPTIMIZATION ON)
  set(whole $<BOOL:$<TARGET_PROPERTY:XYLEM_LINK_OPTIMIZED>>)
  add_link_options($<IF:${whole},-flto=auto,-fno-lto>)
endif()

find_program(XYLEM_CCACHE ccache)
if(XYLEM_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${XYLEM_CCACHE})
endif()
