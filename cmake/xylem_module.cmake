# xylem_module(PATH USES module... LIBS target...)
#
# A module is one folder of src/, compiled to an object library `module_NAME`; NAME is the last word of PATH. Every .cc file
# in it belongs to it, except those of modules inside of it. USES names the modules whose headers it may include;
# tests/architecture checks the include lines against this table.
#
# Modules in XYLEM_OPTIMIZABLE_MODULES are compiled so that xylem_link_optimized can optimise across their files. The
# compiler must not load two fields at a time there: if both have just been written one by one, such a load waits until they
# are in the cache. That takes until all earlier writes are there, for which other cores may have to give up cache lines. Modules
# in XYLEM_COLD_MODULES are compiled fast rather than well.
function(xylem_module PATH)
  cmake_parse_arguments(MODULE "" "" "USES;LIBS" ${ARGN})
  get_filename_component(NAME ${PATH} NAME)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${PATH}/*.cc)
  foreach(inner ${XYLEM_INNER_MODULES})
    if(NOT inner STREQUAL PATH)
      list(FILTER sources EXCLUDE REGEX /src/${inner}/)
    endif()
  endforeach()
  add_library(module_${NAME} OBJECT ${sources})
  target_include_directories(module_${NAME} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(module_${NAME} PUBLIC ${MODULE_LIBS})
  if(NOT PATH MATCHES "^(core|runtime)")
    target_compile_options(module_${NAME} PRIVATE ${XYLEM_TYPED_FLAGS})
  endif()
  foreach(used ${MODULE_USES})
    target_link_libraries(module_${NAME} PUBLIC module_${used})
  endforeach()
  if(XYLEM_LINK_OPTIMIZATION AND NAME IN_LIST XYLEM_OPTIMIZABLE_MODULES)
    target_compile_options(module_${NAME} PRIVATE ${XYLEM_OPTIMIZABLE_FLAGS})
    xylem_precompile(module_${NAME} optimizable)
  elseif(NAME IN_LIST XYLEM_COLD_MODULES)
    xylem_cold(module_${NAME})
  elseif("nlohmann_json::nlohmann_json" IN_LIST MODULE_LIBS)
    xylem_precompile(module_${NAME} json)
  else()
    xylem_precompile(module_${NAME} plain)
  endif()
endfunction()

# xylem_library(NAME modules...): a static library (for the tests, the benchmarks and the command, which use internal
# headers) and a shared one (which users link) of the same objects.
function(xylem_library NAME)
  foreach(kind STATIC SHARED)
    string(TOLOWER ${kind} suffix)
    add_library(${NAME}-${suffix} ${kind})
    foreach(module ${ARGN})
      target_sources(${NAME}-${suffix} PRIVATE $<TARGET_OBJECTS:module_${module}>)
    endforeach()
    target_include_directories(${NAME}-${suffix} PUBLIC
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    set_target_properties(${NAME}-${suffix} PROPERTIES LINKER_LANGUAGE CXX)
  endforeach()
  # The installed headers need it of a program's compiler.
  target_compile_features(${NAME}-shared INTERFACE cxx_std_17)
  target_include_directories(${NAME}-static PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
  set_target_properties(${NAME}-shared PROPERTIES OUTPUT_NAME ${NAME} EXPORT_NAME ${NAME}
                        VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
                        LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/exports.map)
  target_link_options(${NAME}-shared PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/exports.map)
endfunction()

# xylem_link_optimized(targets...): programs and shared libraries that are optimised as a whole when they are linked.
function(xylem_link_optimized)
  set_target_properties(${ARGN} PROPERTIES XYLEM_LINK_OPTIMIZED ON)
endfunction()
