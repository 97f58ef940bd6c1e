# Install targets: both libraries, their headers, the command, the zoo of topologies, and what find_package(xylem) and
# pkg-config need to find them. tests/install builds consumers of each from an installed prefix.
include(CMakePackageConfigHelpers)

# nccl.h and the host CUDA runtime go to a folder of their own, so that Xylem can be installed beside the real ones.
set(XYLEM_INSTALL_NCCLDIR ${CMAKE_INSTALL_INCLUDEDIR}/xylem/nccl)
set(XYLEM_INSTALL_CMAKEDIR ${CMAKE_INSTALL_LIBDIR}/cmake/xylem)
target_include_directories(xylem-shared INTERFACE
  $<INSTALL_INTERFACE:${XYLEM_INSTALL_NCCLDIR}> $<INSTALL_INTERFACE:${XYLEM_INSTALL_NCCLDIR}/host>)

install(TARGETS xylem-shared xylem-plan-shared EXPORT xylem)
install(TARGETS xylem)
install(DIRECTORY include/xylem/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/xylem FILES_MATCHING PATTERN "*.h")
install(FILES include/nccl.h DESTINATION ${XYLEM_INSTALL_NCCLDIR})
install(DIRECTORY include/host DESTINATION ${XYLEM_INSTALL_NCCLDIR} FILES_MATCHING PATTERN "*.h")
install(DIRECTORY topologies DESTINATION ${CMAKE_INSTALL_DATADIR}/xylem FILES_MATCHING PATTERN "*.xml")

install(EXPORT xylem NAMESPACE xylem:: FILE xylemTargets.cmake DESTINATION ${XYLEM_INSTALL_CMAKEDIR})
configure_package_config_file(cmake/xylemConfig.cmake.in ${PROJECT_BINARY_DIR}/xylemConfig.cmake
                              INSTALL_DESTINATION ${XYLEM_INSTALL_CMAKEDIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/xylemConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/xylemConfig.cmake ${PROJECT_BINARY_DIR}/xylemConfigVersion.cmake
        DESTINATION ${XYLEM_INSTALL_CMAKEDIR})

# The .pc files find the prefix from where they lie, so an installed tree can be moved.
file(RELATIVE_PATH XYLEM_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
foreach(library xylem xylem-plan)
  configure_file(cmake/${library}.pc.in ${PROJECT_BINARY_DIR}/${library}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${library}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# The consumers are compiled without sanitizers, which a sanitized library does not link with.
if(XYLEM_TESTS AND NOT XYLEM_SANITIZE)
  add_test(NAME install.consumers
           COMMAND ${PROJECT_SOURCE_DIR}/tests/install/check_install.sh ${CMAKE_COMMAND} ${PROJECT_BINARY_DIR}
                   ${CMAKE_CXX_COMPILER} ${CMAKE_INSTALL_LIBDIR})
  set_tests_properties(install.consumers PROPERTIES TIMEOUT 300)
endif()
