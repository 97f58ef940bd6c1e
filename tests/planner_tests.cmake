# The tests of what plans and of answers about plans: `pure` (CMakeLists.txt).
foreach(folder planner/rules planner/topology planner/paths planner/search planner/connect planner/tuning planner/plan insight/why insight/diff
    insight/preflight golden)
  get_filename_component(name ${folder} NAME)
  set(labels_${name} pure)
  xylem_tests(${folder} xylem-plan-static)
endforeach()
foreach(module lint vm report fabric optimum whatif)
  set(labels_${module} pure)
  xylem_tests(insight/${module} xylem-command xylem-plan-static)
endforeach()

# A stand-in for NVIDIA's management library, loaded at run time as the real one is.
add_library(fake_nvml MODULE planner/topology/fake_nvml/fake_nvml.cc)
target_include_directories(fake_nvml PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_compile_definitions(topology_test PRIVATE XYLEM_FAKE_NVML="$<TARGET_FILE:fake_nvml>")
# The same for the libraries of RDMA devices.
add_library(fake_verbs MODULE planner/topology/fake_verbs/fake_verbs.cc)
target_compile_definitions(topology_test PRIVATE XYLEM_FAKE_VERBS="$<TARGET_FILE:fake_verbs>")
add_dependencies(topology_test fake_nvml fake_verbs)
