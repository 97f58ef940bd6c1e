# The tests that run the command.
xylem_tests(cli test_support xylem-cli)
xylem_tests(runtime/launch test_support xylem-static)
foreach(folder cli launch)
  add_dependencies(${folder}_test xylem)
endforeach()
# It reads sources and headers: nothing that a sanitizer could watch.
if(NOT XYLEM_SANITIZE)
  xylem_tests(architecture xylem-plan-static)
  add_dependencies(architecture_test xylem)
endif()
if(XYLEM_BENCH)
  xylem_tests(comparison comparison)
  target_compile_definitions(comparison_test PRIVATE XYLEM_BENCH_COMPARE="$<TARGET_FILE:bench_compare>")
  add_dependencies(comparison_test bench_compare)
endif()

# A program that a test starts under all launchers, as a user would build it.
add_executable(launched_all_reduce ${PROJECT_SOURCE_DIR}/examples/launched_all_reduce.cc)
target_include_directories(launched_all_reduce PRIVATE ${PROJECT_SOURCE_DIR}/include/host)
target_link_libraries(launched_all_reduce PRIVATE xylem-shared)
target_compile_definitions(launch_test PRIVATE XYLEM_LAUNCHED_PROGRAM="$<TARGET_FILE:launched_all_reduce>")
add_dependencies(launch_test launched_all_reduce)
