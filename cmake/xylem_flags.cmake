# Flags every target of the project is compiled with.
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers)
# The planner's decisions depend on the rounding of 32-bit floats: no contraction, no extended precision.
add_compile_options(-ffp-contract=off)

set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

if(XYLEM_SANITIZE)
  add_compile_options(-fsanitize=${XYLEM_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -O1 -g1)
  add_link_options(-fsanitize=${XYLEM_SANITIZE})
endif()
if(XYLEM_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
endif()

find_program(XYLEM_CCACHE ccache)
if(XYLEM_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${XYLEM_CCACHE})
endif()
