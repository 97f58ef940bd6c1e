# The tests of the rooms that plan.
foreach(room topology paths channels connect tuning plan why diff preflight golden)
  xylem_tests(${room} xylem-plan-static)
endforeach()
foreach(room lint guest draw fabric optimum whatif)
  xylem_tests(${room} xylem-command xylem-plan-static)
endforeach()

# A stand-in for NVIDIA's management library, loaded at run time as the real one is.
add_library(fake_nvml MODULE topology/fake_nvml/fake_nvml.cc)
target_include_directories(fake_nvml PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_compile_definitions(topology_test PRIVATE XYLEM_FAKE_NVML="$<TARGET_FILE:fake_nvml>")
add_dependencies(topology_test fake_nvml)
