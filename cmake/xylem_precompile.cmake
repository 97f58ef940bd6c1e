# xylem_precompile(TARGET KIND): TARGET's files begin with headers that are compiled once: those of the standard library and
# fmt (`plain`), or also of JSON (`json`), which adds a second to every file. Files with other compile flags get precompiled
# headers of their own: the modules with link-time optimization (`optimizable`), and what is hardly optimised (`cold`).
set(XYLEM_COMMON_HEADERS <algorithm> <array> <atomic> <charconv> <chrono> <cstdint> <cstring> <filesystem> <fstream>
    <functional> <map> <memory> <mutex> <optional> <set> <span> <sstream> <string> <string_view> <thread> <tuple>
    <unordered_map> <utility> <variant> <vector> <fmt/format.h> <fmt/ranges.h>)

function(xylem_precompiled_headers NAME)
  file(WRITE ${CMAKE_BINARY_DIR}/precompiled/${NAME}.cc "")
  add_library(precompiled_${NAME} OBJECT EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/precompiled/${NAME}.cc)
  target_precompile_headers(precompiled_${NAME} PRIVATE ${ARGN})
  target_link_libraries(precompiled_${NAME} PRIVATE fmt::fmt nlohmann_json::nlohmann_json)
endfunction()

# xylem_cold(TARGET): TARGET is compiled fast rather than well.
function(xylem_cold TARGET)
  target_compile_options(${TARGET} PRIVATE ${XYLEM_COLD_FLAGS})
  xylem_precompile(${TARGET} cold)
endfunction()

function(xylem_precompile TARGET KIND)
  if(XYLEM_FAST_BUILD)
    target_precompile_headers(${TARGET} REUSE_FROM precompiled_${KIND})
  endif()
endfunction()

if(XYLEM_FAST_BUILD)
  xylem_precompiled_headers(plain ${XYLEM_COMMON_HEADERS})
  xylem_precompiled_headers(json ${XYLEM_COMMON_HEADERS} <nlohmann/json.hpp>)
  xylem_precompiled_headers(cold ${XYLEM_COMMON_HEADERS} <nlohmann/json.hpp>)
  target_compile_options(precompiled_cold PRIVATE ${XYLEM_COLD_FLAGS})
  if(XYLEM_LINK_OPTIMIZATION)
    xylem_precompiled_headers(optimizable ${XYLEM_COMMON_HEADERS})
    target_compile_options(precompiled_optimizable PRIVATE ${XYLEM_OPTIMIZABLE_FLAGS})
  endif()
endif()
