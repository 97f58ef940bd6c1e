# The installed files, by component: both libraries and the net plugin (library); their headers and the files for
# find_package(xylem) and pkg-config (dev); the command, its manual pages, its completion and the zoo of topologies
# (runtime); the documentation (doc). `cmake --build DIR --target installable` builds all of it. tests/install builds
# consumers of each from an installed prefix.
include(CMakePackageConfigHelpers)

# nccl.h and the host CUDA runtime go to a folder of their own, so that Xylem can be installed beside the real ones.
set(XYLEM_INSTALL_NCCLDIR ${CMAKE_INSTALL_INCLUDEDIR}/xylem/nccl)
set(XYLEM_INSTALL_CMAKEDIR ${CMAKE_INSTALL_LIBDIR}/cmake/xylem)
target_include_directories(xylem-shared INTERFACE
  $<INSTALL_INTERFACE:${XYLEM_INSTALL_NCCLDIR}> $<INSTALL_INTERFACE:${XYLEM_INSTALL_NCCLDIR}/host>)

install(TARGETS xylem-shared xylem-plan-shared EXPORT xylem
        LIBRARY COMPONENT library NAMELINK_COMPONENT dev)
install(DIRECTORY include/xylem/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/xylem COMPONENT dev
        FILES_MATCHING PATTERN "*.h")
install(FILES include/nccl.h include/nccl_common.h include/nccl_net.h include/nccl_tuner.h include/nccl_profiler.h
              include/nccl_env.h
        DESTINATION ${XYLEM_INSTALL_NCCLDIR} COMPONENT dev)
install(DIRECTORY include/host DESTINATION ${XYLEM_INSTALL_NCCLDIR} COMPONENT dev
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(TARGETS nccl-net-xylem LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(TARGETS xylem COMPONENT runtime)
install(DIRECTORY topologies DESTINATION ${CMAKE_INSTALL_DATADIR}/xylem COMPONENT runtime
        FILES_MATCHING PATTERN "*.xml" PATTERN "README.md")
# As in the checkout, so that the pages' links to each other, to examples and to machines hold.
install(FILES README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc FILES_MATCHING
        PATTERN "*.md" PATTERN "*.svg" PATTERN reference EXCLUDE)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc)
install(CODE "
  set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DOCDIR}\")
  file(RELATIVE_PATH machines /${CMAKE_INSTALL_DOCDIR} /${CMAKE_INSTALL_DATADIR}/xylem/topologies)
  file(CREATE_LINK \"\${machines}\" \"\${folder}/topologies\" SYMBOLIC)" COMPONENT doc)
# Made by `cmake --build DIR --target reference`.
install(DIRECTORY ${PROJECT_BINARY_DIR}/reference/html DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc OPTIONAL)

# The command itself writes its manual pages and its completion for shells.
set(XYLEM_PAGES ${PROJECT_BINARY_DIR}/pages)
install(CODE "
  file(MAKE_DIRECTORY ${XYLEM_PAGES})
  set(command \"$<TARGET_FILE:xylem>\")
  execute_process(COMMAND \${command} man --output ${XYLEM_PAGES}/man COMMAND_ERROR_IS_FATAL ANY)
  foreach(shell bash zsh fish)
    execute_process(COMMAND \${command} completion \${shell} OUTPUT_FILE ${XYLEM_PAGES}/xylem.\${shell}
                    COMMAND_ERROR_IS_FATAL ANY)
  endforeach()" COMPONENT runtime)
install(DIRECTORY ${XYLEM_PAGES}/man/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT runtime)
install(FILES ${XYLEM_PAGES}/xylem.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        RENAME xylem COMPONENT runtime)
install(FILES ${XYLEM_PAGES}/xylem.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions
        RENAME _xylem COMPONENT runtime)
install(FILES ${XYLEM_PAGES}/xylem.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
        COMPONENT runtime)

# A second name, under which NCCL programs look for plugins.
add_library(xylem-nccl-host INTERFACE)
target_link_libraries(xylem-nccl-host INTERFACE xylem-shared)
set_target_properties(xylem-nccl-host PROPERTIES EXPORT_NAME nccl_host)
install(TARGETS xylem-nccl-host EXPORT xylem COMPONENT dev)

install(EXPORT xylem NAMESPACE xylem:: FILE xylemTargets.cmake DESTINATION ${XYLEM_INSTALL_CMAKEDIR} COMPONENT dev)
configure_package_config_file(cmake/xylemConfig.cmake.in ${PROJECT_BINARY_DIR}/xylemConfig.cmake
                              INSTALL_DESTINATION ${XYLEM_INSTALL_CMAKEDIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/xylemConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/xylemConfig.cmake ${PROJECT_BINARY_DIR}/xylemConfigVersion.cmake
        DESTINATION ${XYLEM_INSTALL_CMAKEDIR} COMPONENT dev)

# The .pc files find the prefix from their own folder, so an installed tree can be moved.
file(RELATIVE_PATH XYLEM_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
foreach(library xylem xylem-plan)
  configure_file(cmake/${library}.pc.in ${PROJECT_BINARY_DIR}/${library}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${library}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
          COMPONENT dev)
endforeach()

# The compiler's wrapper, which finds the prefix in the same way.
file(RELATIVE_PATH XYLEM_BIN_TO_PREFIX /${CMAKE_INSTALL_BINDIR} /)
include(xylem_cuda_home)
configure_file(cmake/xylem-cc.in ${PROJECT_BINARY_DIR}/xylem-cc @ONLY)
install(PROGRAMS ${PROJECT_BINARY_DIR}/xylem-cc DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT dev)

add_custom_target(installable DEPENDS xylem xylem-shared xylem-plan-shared nccl-net-xylem)
if(XYLEM_CUDA_FOUND)
  add_dependencies(installable xylem-cuda)
endif()
include(xylem_drop_in)
if(XYLEM_WITH_PYTHON)
  add_dependencies(installable python)
endif()

include(xylem_package)

# The consumers are compiled without sanitizers, which a sanitized library does not link with.
if(XYLEM_TESTS AND NOT XYLEM_SANITIZE)
  add_test(NAME install.consumers
           COMMAND ${PROJECT_SOURCE_DIR}/tests/install/check_install.sh ${CMAKE_COMMAND} ${PROJECT_BINARY_DIR}
                   ${CMAKE_CXX_COMPILER} ${CMAKE_INSTALL_LIBDIR})
  add_test(NAME install.packages
           COMMAND ${PROJECT_SOURCE_DIR}/tests/install/check_packages.sh ${CMAKE_COMMAND} ${PROJECT_BINARY_DIR}
                   ${CMAKE_CXX_COMPILER})
  set_tests_properties(install.consumers install.packages PROPERTIES TIMEOUT 300 COST 60 RESOURCE_LOCK install LABELS slow
                       SKIP_RETURN_CODE 77)
endif()
