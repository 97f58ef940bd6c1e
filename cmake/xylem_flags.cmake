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

find_program(XYLEM_CCACHE ccache)
if(XYLEM_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${XYLEM_CCACHE})
endif()
